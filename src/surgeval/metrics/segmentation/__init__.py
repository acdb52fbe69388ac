"""Segmentation: overlap, outlines, instances and stability of masks, with empty masks ruled explicitly."""

from surgeval.metrics.segmentation.boundary import Hausdorff95 as Hausdorff95
from surgeval.metrics.segmentation.boundary import Nsd as Nsd
from surgeval.metrics.segmentation.empty import EMPTY_RULES as EMPTY_RULES
from surgeval.metrics.segmentation.empty import BothEmpty as BothEmpty
from surgeval.metrics.segmentation.empty import EmptyReference as EmptyReference
from surgeval.metrics.segmentation.empty import EmptyRule as EmptyRule
from surgeval.metrics.segmentation.instances import InstanceCounts as InstanceCounts
from surgeval.metrics.segmentation.instances import MultiInstanceDsc as MultiInstanceDsc
from surgeval.metrics.segmentation.instances import MultiInstanceNsd as MultiInstanceNsd
from surgeval.metrics.segmentation.instances import instance_counts as instance_counts
from surgeval.metrics.segmentation.instances import mi_dsc as mi_dsc
from surgeval.metrics.segmentation.instances import mi_nsd as mi_nsd
from surgeval.metrics.segmentation.masks import MaskCases as MaskCases
from surgeval.metrics.segmentation.masks import PixelCounts as PixelCounts
from surgeval.metrics.segmentation.masks import pixel_counts as pixel_counts
from surgeval.metrics.segmentation.overlap import Dsc as Dsc
from surgeval.metrics.segmentation.overlap import ImageMeanIou as ImageMeanIou
from surgeval.metrics.segmentation.overlap import Iou as Iou
from surgeval.metrics.segmentation.overlap import PooledMeanIou as PooledMeanIou
from surgeval.metrics.segmentation.overlap import dsc_of as dsc_of
from surgeval.metrics.segmentation.overlap import empty_counts as empty_counts
from surgeval.metrics.segmentation.overlap import iou_of as iou_of
from surgeval.metrics.segmentation.stability import MaskStabilityGap as MaskStabilityGap
from surgeval.metrics.segmentation.stability import MaskVideo as MaskVideo
from surgeval.metrics.segmentation.stability import mask_stability as mask_stability
from surgeval.metrics.segmentation.surfaces import Outline as Outline
from surgeval.metrics.segmentation.surfaces import hausdorff_px as hausdorff_px
from surgeval.metrics.segmentation.surfaces import nsd as nsd

__all__ = [
    "Dsc",
    "ImageMeanIou",
    "InstanceCounts",
    "Iou",
    "MaskCases",
    "MultiInstanceDsc",
    "MultiInstanceNsd",
    "PooledMeanIou",
    "dsc_of",
    "instance_counts",
    "iou_of",
    "overlap",
    "pixel_counts",
]
