"""Small files of annotation tools, written from the descriptions of their formats."""

CVAT_VIDEO = """<?xml version="1.0" encoding="utf-8"?>
<annotations><version>1.1</version>
  <meta><task><id>7</id><name>case 12</name><size>101</size><mode>interpolation</mode><overlap>5</overlap>
    <start_frame>0</start_frame><stop_frame>100</stop_frame><frame_filter>step=25</frame_filter>
    <labels><label><name>Sponge</name></label></labels>
    <original_size><width>640</width><height>360</height></original_size></task></meta>
  <track id="0" label="Sponge" source="manual">
    <box frame="0" keyframe="1" outside="0" occluded="0" xtl="10.00" ytl="20.00" xbr="30.00" ybr="60.00" z_order="0">
      <attribute name="soaked">no</attribute></box>
    <box frame="50" keyframe="1" outside="0" occluded="1" xtl="20.00" ytl="20.00" xbr="40.00" ybr="60.00" z_order="0">
      <attribute name="soaked">yes</attribute></box>
    <box frame="75" keyframe="1" outside="1" occluded="0" xtl="20.00" ytl="20.00" xbr="40.00" ybr="60.00" z_order="0">
      <attribute name="soaked">yes</attribute></box>
  </track>
  <track id="1" label="Needle" source="manual">
    <polygon frame="25" keyframe="1" outside="0" occluded="0" points="5,5;9,5;7,11" z_order="0"/>
  </track>
</annotations>"""

CVAT_IMAGES = """<?xml version="1.0" encoding="utf-8"?>
<annotations><version>1.1</version>
  <image id="0" name="f0.png" width="100" height="50"><tag label="smoke" source="manual"/>
    <box label="Clip" source="manual" occluded="0" xtl="10" ytl="10" xbr="30" ybr="20" rotation="90.0" z_order="0">
      <attribute name="instance">clip A</attribute></box>
    <mask label="Sponge" source="manual" occluded="0" rle="1, 3, 2" left="40" top="5" width="3" height="2"/></image>
  <image id="1" name="f1.png" width="100" height="50">
    <ellipse label="Clip" occluded="1" cx="20" cy="20" rx="5" ry="2"><attribute name="instance">clip A</attribute>
    </ellipse></image>
</annotations>"""

COCO = {
    "videos": [{"id": 3, "name": "case 12", "fps": 25}],
    "images": [
        {"id": 1, "video_id": 3, "frame_index": 0, "file_name": "a.png", "width": 640, "height": 360},
        {"id": 2, "video_id": 3, "frame_index": 25, "file_name": "b.png", "width": 640, "height": 360},
        {"id": 3, "video_id": 3, "frame_index": 30, "file_name": "c.png", "width": 640, "height": 360},
    ],
    "categories": [{"id": 5, "name": "Sponge"}],
    "annotations": [
        {"id": 1, "image_id": 1, "category_id": 5, "bbox": [1, 2, 3, 4], "track_id": 9, "attributes": {"wet": False}},
        {
            "id": 2,
            "image_id": 2,
            "category_id": 5,
            "bbox": [2, 2, 3, 4],
            "attributes": {"track_id": 9, "occluded": True, "wet": True},
            "segmentation": [[2, 2, 5, 2, 5, 6]],
        },
        {"id": 3, "image_id": 3, "category_id": 5, "bbox": [2, 2, 3, 4], "track_id": 9},
        {"id": 4, "image_id": 2, "category_id": 5, "bbox": [0, 0, 9, 9], "iscrowd": 1},
    ],
}

MOT_TABLE = "1,4,10,20,30,40,1,2,1.0\n2,4,11,20,30,40,1,2,0.4\n2,5,1,1,5,5,1,1,1\n3,5,1,1,5,5,0,1,1\n"

LABEL_STUDIO = [
    {
        "id": 1,
        "data": {"video": "/data/upload/case12.mp4"},
        "annotations": [
            {
                "id": 11,
                "completed_by": 4,
                "was_cancelled": False,
                "result": [
                    {
                        "id": "r1",
                        "type": "videorectangle",
                        "original_width": 200,
                        "original_height": 100,
                        "value": {
                            "framesCount": 250,
                            "duration": 10.0,
                            "labels": ["Clip"],
                            "sequence": [
                                {
                                    "frame": 1,
                                    "enabled": True,
                                    "rotation": 0,
                                    "x": 10,
                                    "y": 10,
                                    "width": 5,
                                    "height": 10,
                                },
                                {
                                    "frame": 51,
                                    "enabled": False,
                                    "rotation": 0,
                                    "x": 20,
                                    "y": 10,
                                    "width": 5,
                                    "height": 10,
                                },
                                {
                                    "frame": 101,
                                    "enabled": True,
                                    "rotation": 90,
                                    "x": 50,
                                    "y": 50,
                                    "width": 5,
                                    "height": 10,
                                },
                            ],
                        },
                    },
                    {
                        "id": "t",
                        "type": "timelinelabels",
                        "value": {"timelinelabels": ["dissection"], "ranges": [{"start": 26, "end": 100}]},
                    },
                    {"id": "b", "type": "brushlabels", "value": {}},
                ],
            },
            {"id": 12, "completed_by": 5, "was_cancelled": True, "result": []},
        ],
        "predictions": [{"result": []}],
    }
]

SEGMENTS = (
    "Tier\tBegin Time - ss.msec\tEnd Time - ss.msec\tAnnotation\n"
    "phase\t0.0\t10.2\tpreparation\n"
    "phase\t00:00:10\t00:01:00.000\tdissection\n"
    "masked\t50\t60\t\n"
    "gaze\t1\t2\tleft\n"
)

RICH_CVAT = """<?xml version="1.0" encoding="utf-8"?>
<annotations><version>1.1</version>
  <meta><task><name>case</name><size>10</size><stop_frame>9</stop_frame>
    <original_size><width>100</width><height>50</height></original_size></task></meta>
  <track id="0" label="Clip" source="manual" group_id="3">
    <box frame="0" outside="0" occluded="0" xtl="10" ytl="10" xbr="30" ybr="20" rotation="30" z_order="2"/>
    <box frame="4" outside="1" occluded="0" xtl="10" ytl="10" xbr="30" ybr="20"/>
    <hologram frame="2"/>
  </track>
  <track id="1" label="Sponge">
    <polygon frame="1" outside="0" occluded="0" points="5,5;9,5;7,11"/>
    <mask frame="2" outside="0" occluded="0" rle="1, 3, 2" left="40" top="5" width="3" height="2"/>
  </track>
  <image id="5" name="shot.png" width="100" height="50"><tag label="smoke"/>
    <box label="Mesh" occluded="0" xtl="1" ytl="1" xbr="9" ybr="9"/></image>
</annotations>"""

RICH_COCO = {
    "videos": [{"id": 1, "name": "case", "fps": 2}],
    "images": [
        {"id": i, "video_id": 1, "frame_index": i, "file_name": f"shot{i}.jpg", "width": 9, "height": 9, "blur": 0.4}
        for i in range(3)
    ],
    "categories": [{"id": 1, "name": "Clip"}],
    "annotations": [
        {"id": 1, "image_id": 0, "category_id": 1, "bbox": [0, 0, 3, 3], "track_id": 1, "keypoints": [1, 1, 2],
         "attributes": {"rotation": 30.0}, "segmentation": [[0, 0, 3, 0, 3, 3]]},
        {"id": 2, "image_id": 1, "category_id": 1, "bbox": [0, 0, 3, 3], "track_id": 1},
        {"id": 3, "image_id": 2, "category_id": 1, "bbox": [0, 0, 3, 3], "iscrowd": 1},
        {"id": 4, "image_id": 2, "category_id": 1, "bbox": [1, 1, 3, 3], "score": 0.7},
    ],
}  # fmt: skip

RICH_MOT = "1,4,1,1,5,5,0.8,1,0.3,7.5\n2,4,1,1,5,5,1,1,0\n3,4,1,1,5,5,0,1,1\n"

_PLACE = {"x": 50, "y": 50, "width": 9, "height": 9}
RICH_LABEL_STUDIO = [
    {
        "id": 1,
        "data": {"video": "case.mp4", "surgeon": "A"},
        "predictions": [{"result": []}],
        "annotations": [
            {
                "id": 1,
                "result": [
                    {
                        "id": "r", "type": "videorectangle", "original_width": 100, "original_height": 50, "score": 0.5,
                        "meta": {"text": ["unsure"]},
                        "value": {
                            "framesCount": 10, "duration": 5.0, "labels": ["Clip"],
                            "sequence": [
                                {"frame": 1, "enabled": True, "rotation": 20, **_PLACE},
                                {"frame": 2, "enabled": True, "rotation": 0, **_PLACE},
                                {"frame": 5, "enabled": False, "rotation": 0, **_PLACE},
                            ],
                        },
                    },
                    {"id": "r", "type": "choices", "value": {"choices": ["blurred"]}},
                ],
            },
            {"id": 2, "was_cancelled": True, "result": []},
        ],
    },
    {"id": 2, "data": {"video": "other.mp4"}, "annotations": []},
]  # fmt: skip

RICH_SEGMENTS = (
    "tier,start_s,end_s,label,instance,details,rater\n"
    "phase,0,10.4,preparation,,,ann\n"
    "object,,,Clip,c1,,\n"
    "event,3,8,placed,c1,,\n"
    "masked,5,6,face of staff,,,\n"
    "gaze,1,2,left,,,\n"
)
