"""Attacks on intake. Numbers in test names follow the threat model's table."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import tarfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from how_many import many
from image_archives import (
    Entry,
    archive,
    config_bytes,
    digest,
    docker_members,
    entry,
    folder,
    layer,
    link,
    oci_members,
    small_entries,
)
from surgvalid.errors import ImageRefused
from surgvalid.sandbox import ImageFacts, ImageLimits, inspect_image, write_clean_image

AMD = ImageLimits(architecture="amd64")
Change = Callable[[dict[str, Any]], object]


def image(tmp_path: Path, *extra: Entry, change: Change | None = None, layers: list[bytes] | None = None) -> Path:
    layers = layers or [layer([*small_entries(), *extra])]
    return archive(tmp_path / "image.tar", docker_members(layers, config=config_bytes(layers, change)))


def refused(path: Path, limits: ImageLimits = AMD) -> str:
    with pytest.raises(ImageRefused) as caught:
        inspect_image(path, limits)
    assert all(problem.strip() for problem in caught.value.problems)
    return str(caught.value)


def setting(key: str, value: Any) -> Change:
    return lambda config: config["config"].update({key: value})


def changed(path: Path, old: bytes, new: bytes) -> Path:
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new))
    return path


def test_an_honest_image_is_let_in_and_told_about(tmp_path: Path) -> None:
    facts = inspect_image(image(tmp_path), AMD)
    assert (facts.user, facts.layers, facts.files, facts.architecture) == ("1000:1000", 1, 4, "amd64")
    assert facts.entrypoint == ("/bin/sh", "-c")
    assert facts.tags == ("team/model:1",)
    assert facts.notes == ()


def test_every_way_to_save_one_image_gives_one_clean_image(tmp_path: Path) -> None:
    layers = [layer(small_entries()), layer([entry("weights", b"w" * 5000)])]
    saved = docker_members(layers)
    plain = archive(tmp_path / "a.tar", saved)
    packed = tmp_path / "a.tar.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()[:1000]) + gzip.compress(plain.read_bytes()[1000:]))
    xz = tmp_path / "a.tar.xz"
    xz.write_bytes(lzma.compress(plain.read_bytes()))
    oci = archive(tmp_path / "oci.tar", oci_members(layers))
    both = archive(tmp_path / "both.tar", {**oci_members(layers, compress=False), **_saved_as_blobs(layers)})
    found = [inspect_image(path, AMD) for path in (plain, packed, xz, oci, both)]
    assert len({(facts.digest, facts.clean_digest) for facts in found}) == 1


def _saved_as_blobs(layers: list[bytes]) -> dict[str, bytes]:
    config = f"blobs/sha256/{digest(config_bytes(layers))}"
    names = [f"blobs/sha256/{digest(one)}" for one in layers]
    return {"manifest.json": json.dumps([{"Config": config, "RepoTags": None, "Layers": names}]).encode()}


def test_15_the_same_image_under_two_names_has_one_digest(tmp_path: Path) -> None:
    layers = [layer(small_entries())]
    one = inspect_image(archive(tmp_path / "a.tar", docker_members(layers, tags=["team-a/model:1"])), AMD)
    two = inspect_image(archive(tmp_path / "b.tar", docker_members(layers, tags=["team-b/other:9"])), AMD)
    assert one.digest == two.digest


# 1: not what it claims to be


@pytest.mark.parametrize(
    "data", [b"", b"hello", b"\x1f\x8b", b"PK\x03\x04" + bytes(2000), b"\xfd7zXZ\x00" + bytes(600)]
)
def test_01_something_that_is_no_archive_is_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "image.tar"
    path.write_bytes(data)
    assert "image.tar" in refused(path)


def test_01_a_missing_file_is_refused(tmp_path: Path) -> None:
    assert "cannot be read" in refused(tmp_path / "nothing.tar")


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_01_a_cut_archive_is_refused(packed: bool, share: float, tmp_path: Path) -> None:
    path = image(tmp_path)
    data = gzip.compress(path.read_bytes()) if packed else path.read_bytes().rstrip(b"\0")
    path.write_bytes(data[: int(len(data) * share)])
    assert "cut off" in (message := refused(path)) or "middle" in message


def test_01_a_header_that_no_digest_covers_is_checked_by_its_own_sum(tmp_path: Path) -> None:
    path = image(tmp_path)
    data = bytearray(path.read_bytes())
    data[136 + 5] ^= 1  # the time of the first member: any digit will do
    path.write_bytes(data)
    assert "check sum" in refused(path)


@settings(max_examples=many(60))
@given(position=st.integers(0, 1 << 30), value=st.integers(0, 255), length=st.integers(0, 1 << 30))
def test_01_damage_anywhere_never_escapes_as_another_error(
    position: int, value: int, length: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    layers = [layer(small_entries())]
    data = bytearray(layer([entry(name, blob) for name, blob in oci_members(layers).items()]))
    data[position % len(data)] = value
    path = tmp_path_factory.getbasetemp() / "damaged.tar"
    path.write_bytes(data[: max(1, length % (2 * len(data)))])
    try:
        facts = inspect_image(path, AMD)
    except ImageRefused:
        return
    assert isinstance(facts, ImageFacts)


# 2, 3: bombs


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
@pytest.mark.parametrize("where", ["archive", "layer"])
def test_02_a_bomb_is_noticed_by_its_ratio_and_in_bounded_memory(
    pack: Callable[[bytes], bytes], where: str, tmp_path: Path
) -> None:
    zeros = layer([*small_entries(), entry("zeros", bytes(100 << 20))])
    members = docker_members([pack(zeros)] if where == "layer" else [zeros], config=config_bytes([zeros]))
    path = archive(tmp_path / "bomb.tar", members)
    if where == "archive":
        path.write_bytes(pack(path.read_bytes()))
    del zeros, members
    tracemalloc.start()
    assert "times its size" in refused(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40 << 20


def test_02_more_data_than_allowed_is_refused(tmp_path: Path) -> None:
    path = image(tmp_path, entry("big", bytes(3 << 20)))
    assert "more than the allowed size" in refused(path, ImageLimits(architecture="amd64", unpacked_mb=2))
    assert "allowed are 1" in refused(path, ImageLimits(architecture="amd64", archive_mb=1))


def test_02_more_files_or_layers_than_allowed_are_refused(tmp_path: Path) -> None:
    many = [entry(f"f{number}") for number in range(50)]
    assert "more files" in refused(image(tmp_path, *many), ImageLimits(architecture="amd64", files=40))
    layers = [layer(small_entries()), *(layer([entry(f"x{n}")]) for n in range(4))]
    assert "allowed are 1 to 3" in refused(image(tmp_path, layers=layers), ImageLimits(architecture="amd64", layers=3))
    stuffed = {f"file{number}": b"" for number in range(2001)}
    assert "2000 files" in refused(archive(tmp_path / "stuffed.tar", stuffed))


def test_02_zstd_is_refused_with_a_way_out(tmp_path: Path) -> None:
    layers = [b"\x28\xb5\x2f\xfd" + bytes(1000)]
    assert "use gzip" in refused(archive(tmp_path / "image.tar", docker_members(layers)))


def _raw(name: bytes, kind: bytes, size_field: bytes, payload: bytes = b"") -> bytes:
    """A tar header written by hand."""
    head = bytearray(512)
    head[: len(name)] = name
    head[100:108] = head[108:116] = head[116:124] = b"0000644\0"
    head[124:136] = size_field
    head[136:148] = b"00000000000\0"
    head[156:157] = kind
    head[257:265] = b"ustar\x0000"
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    return bytes(head) + payload + bytes(-len(payload) % 512)


def octal(size: int) -> bytes:
    return b"%011o\0" % size


@pytest.mark.parametrize("kind", [b"x", b"L", b"K"])
def test_03_a_huge_header_is_refused_without_reading_it(kind: bytes, tmp_path: Path) -> None:
    bad = _raw(b"h", kind, octal(6 << 30)) + bytes(1024)
    assert "headers need more" in refused(image(tmp_path, layers=[bad]))


def test_03_a_long_chain_of_headers_is_refused(tmp_path: Path) -> None:
    chain = _raw(b"h", b"L", octal(4), b"name") * 20000
    assert "headers need more" in refused(image(tmp_path, layers=[chain + bytes(1024)]))


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (_raw(b"s", b"S", octal(0)), "sparse"),
        (_raw(b"x", b"x", octal(22), b"22 GNU.sparse.major=1\n") + _raw(b"f", b"0", octal(0)), "sparse"),
        (_raw(b"g", b"g", octal(0)), "not accepted"),
        (_raw(b"f", b"0", b"\x80" + b"\xff" * 11), "impossible number"),
        (_raw(b"f", b"0", b"zzzzzzzzzzz\0"), "no number"),
        (_raw(b"f", b"0", octal(1 << 30)), "middle of a file"),
        (_raw(b"x", b"x", octal(9), b"99 path=a"), "malformed"),
        (_raw(b"x", b"x", octal(13), b"13 path=a\0bc\n"), "NUL"),
        (_raw(b"x", b"x", octal(11), b"11 size=-1\n"), "no number"),
        (_raw(b"d", b"5", octal(512), b"payload"), "a size"),
        (_raw(b"f/", b"0", octal(0)), "ends in '/'"),
        (_raw(b"x", b"x", octal(0)), "belongs to a file"),
    ],
)
def test_03_headers_that_readers_understand_differently_are_refused(bad: bytes, said: str, tmp_path: Path) -> None:
    assert said in refused(image(tmp_path, layers=[layer(small_entries())[:-10240] + bad + bytes(1024)]))


def test_03_a_header_whose_check_sum_is_wrong_is_refused(tmp_path: Path) -> None:
    broken = bytearray(layer([entry("aaaa"), entry("bbbb")]))
    broken[0:4] = b"zzzz"
    assert "check sum" in refused(image(tmp_path, layers=[bytes(broken)]))


# 4, 5, 6: entries that reach out of the image


@pytest.mark.parametrize("name", ["../escape", "a/../../escape", "/etc/cron.d/x", "..", "a/.."])
def test_04_a_path_out_of_the_image_is_refused(name: str, tmp_path: Path) -> None:
    assert "absolute path" in (said := refused(image(tmp_path, entry(name)))) or "climbs out" in said


@pytest.mark.parametrize("name", ["../escape", "/tmp/x", "a/../../x"])
def test_04_a_path_out_of_the_archive_itself_is_refused(name: str, tmp_path: Path) -> None:
    members = docker_members([layer(small_entries())])
    assert "leads out of it" in refused(archive(tmp_path / "image.tar", {**members, name: b"x"}))


def test_05_a_file_through_a_link_of_the_same_layer_is_refused(tmp_path: Path) -> None:
    assert "written through 'out'" in refused(image(tmp_path, link("out", "/etc"), entry("out/passwd", b"x")))


@pytest.mark.parametrize("target", ["../../etc/shadow", "bin/../../x", "/../x"])
def test_05_a_link_that_climbs_out_is_refused(target: str, tmp_path: Path) -> None:
    assert "climbs out of the image" in refused(image(tmp_path, link("l", target)))


def test_05_links_that_stay_inside_are_fine(tmp_path: Path) -> None:
    inside = [link("lib", "usr/lib"), link("bin/sh", "/bin/tool"), link("bin/up", "../etc/passwd")]
    hard = entry("bin/other", kind=tarfile.LNKTYPE, link="./bin/tool")
    assert inspect_image(image(tmp_path, *inside, hard), AMD).files == 8


@pytest.mark.parametrize("target", ["/etc/shadow", "../x", "missing", "bin"])
def test_05_a_hard_link_to_anything_but_an_earlier_file_is_refused(target: str, tmp_path: Path) -> None:
    assert "hard link to" in refused(image(tmp_path, entry("l", kind=tarfile.LNKTYPE, link=target)))


def test_05_a_link_in_the_archive_itself_is_refused_unless_it_names_a_layer(tmp_path: Path) -> None:
    one = layer(small_entries())
    members = docker_members([one, one])
    entries = [entry(name, data) for name, data in members.items()]
    assert "no layer in it" in refused(archive(tmp_path / "a.tar", [*entries, link("x/layer.tar", "/etc/passwd")]))
    assert "no layer in it" in refused(archive(tmp_path / "b.tar", [*entries, link("x/layer.tar", "../../l.tar")]))
    assert inspect_image(archive(tmp_path / "c.tar", [*entries, link("x/l.tar", f"../{digest(one)}/layer.tar")]), AMD)


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_06_devices_and_pipes_are_refused(kind: bytes, tmp_path: Path) -> None:
    assert "holds files, folders and links" in refused(image(tmp_path, entry("dev/sda", kind=kind)))
    members = [entry(name, data) for name, data in docker_members([layer(small_entries())]).items()]
    assert "the archive holds" in refused(archive(tmp_path / "image.tar", [*members, entry("x", kind=kind)]))


def _with_attribute(name: str, attribute: str) -> Entry:
    info, data = entry(name, b"x", mode=0o755)
    info.pax_headers = {f"SCHILY.xattr.{attribute}": "x"}
    return info, data


def test_06_setuid_bits_and_capabilities_do_not_get_in(tmp_path: Path) -> None:
    path = image(tmp_path, entry("bin/su", b"x", mode=0o6755), _with_attribute("bin/ping", "security.capability"))
    facts = write_clean_image(path, tmp_path / "clean.tar", AMD)
    assert facts.notes == ("2 files lose their setuid bit or file capability",)
    assert "chmod a-s" in refused(path, ImageLimits(architecture="amd64", refuse_setuid=True))
    inner = {info.name: info for info in clean_entries(tmp_path / "clean.tar")}
    assert inner["bin/su"].mode == 0o755
    assert all(not info.pax_headers for info in inner.values())


def test_06_attributes_that_redirect_an_overlay_are_refused(tmp_path: Path) -> None:
    bad = _with_attribute("etc/x", "trusted.overlay.redirect")
    assert "only the kernel" in refused(image(tmp_path, bad))


def test_06_a_repeated_entry_is_refused_but_a_repeated_folder_is_not(tmp_path: Path) -> None:
    assert "appears twice" in refused(image(tmp_path, entry("bin/tool", b"other")))
    assert "appears twice" in refused(image(tmp_path, entry("./bin//tool", b"other")))
    assert "appears twice" in refused(image(tmp_path, link("bin", "/etc")))
    assert inspect_image(image(tmp_path, folder("bin")), AMD)


@pytest.mark.parametrize("name", [".wh...", "a/.wh..", ".wh.", ".wh..wh.x"])
def test_06_a_whiteout_of_no_file_is_refused(name: str, tmp_path: Path) -> None:
    assert "removes something" in refused(image(tmp_path, entry(name)))


@pytest.mark.parametrize("name", ["n" * 300, "d/" * 300 + "f", "a\nb", "x" * 200 + ("/" + "y" * 200) * 25])
def test_06_names_that_break_readers_are_refused(name: str, tmp_path: Path) -> None:
    assert "no usable file name" in refused(image(tmp_path, entry(name)))


def test_06_a_name_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    bad = _raw(b"caf\xe9", b"0", octal(0)) + bytes(1024)
    assert "not UTF-8" in refused(image(tmp_path, layers=[bad]))


def test_many_problems_of_a_kind_are_counted_and_all_kinds_are_told(tmp_path: Path) -> None:
    bad = [entry(f"../e{number}") for number in range(30)]
    said = refused(image(tmp_path, *bad, entry("dev/x", kind=tarfile.CHRTYPE), change=setting("User", "root")))
    assert "27 more of the kind" in said
    assert "device" in said
    assert "is root" in said


# 7, 8, 9: papers


def test_07_two_images_or_none_are_refused(tmp_path: Path) -> None:
    members = docker_members([layer(small_entries())])
    manifest = json.loads(members["manifest.json"])
    two = {**members, "manifest.json": json.dumps(manifest * 2).encode()}
    assert "names 2 images" in refused(archive(tmp_path / "a.tar", two))
    none = {**members, "manifest.json": b"[]"}
    assert "holds no image" in refused(archive(tmp_path / "b.tar", none))
    assert "holds no image" in refused(archive(tmp_path / "c.tar", {"x": b"y"}))


def test_07_a_second_image_smuggled_in_is_refused(tmp_path: Path) -> None:
    other = layer([entry("other")])
    members = {**docker_members([layer(small_entries())]), "other/layer.tar": other}
    assert "belong to no image" in refused(archive(tmp_path / "a.tar", members))
    one, two = [layer(small_entries())], [layer([*small_entries(), entry("other")])]
    mixed = {**oci_members(one), **docker_members(two)}
    assert "different images" in refused(archive(tmp_path / "b.tar", mixed))


def test_07_an_index_of_two_images_is_refused_but_a_builders_note_is_not(tmp_path: Path) -> None:
    members = oci_members([layer(small_entries())])
    index = json.loads(members["index.json"])
    twice = {**members, "index.json": json.dumps({"manifests": index["manifests"] * 2}).encode()}
    assert "names 2 images" in refused(archive(tmp_path / "a.tar", twice))
    note = {**index["manifests"][0], "annotations": {"vnd.docker.reference.type": "attestation-manifest"}}
    noted = {**members, "index.json": json.dumps({"manifests": [*index["manifests"], note]}).encode()}
    assert inspect_image(archive(tmp_path / "b.tar", noted), AMD)


def test_08_the_name_of_another_team_is_never_carried_over(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.tar", docker_members([layer(small_entries())], tags=["localhost/team-b:final"]))
    facts = write_clean_image(path, tmp_path / "clean.tar", AMD)
    with tarfile.open(tmp_path / "clean.tar") as clean:
        manifest = json.load(clean.extractfile("manifest.json"))  # type: ignore[arg-type]
    assert manifest[0]["RepoTags"] == [f"localhost/surgvalid:{facts.clean_digest[7:]}"]
    assert b"team-b" not in (tmp_path / "clean.tar").read_bytes()


def test_09_papers_that_point_elsewhere_are_refused(tmp_path: Path) -> None:
    members = docker_members([layer(small_entries())])
    manifest = json.loads(members["manifest.json"])
    for change, said in (
        ({"Config": "../../etc/passwd"}, "not in the archive"),
        ({"Config": "gone.json"}, "not in the archive"),
        ({"Layers": ["gone/layer.tar"]}, "not in the archive"),
        ({"Layers": "all"}, "not a list of images"),
        ({"Config": 5}, "not a list of images"),
        ({"Layers": []}, "allowed are 1 to"),
        ({"Layers": ["manifest.json"]}, "is not a tar archive"),
    ):
        altered = {**members, "manifest.json": json.dumps([{**manifest[0], **change}]).encode()}
        assert said in refused(archive(tmp_path / "a.tar", altered))


def test_09_contents_that_do_not_match_their_digest_are_refused(tmp_path: Path) -> None:
    layers = [layer(small_entries())]
    evil = layer([*small_entries(), entry("evil")])
    members = docker_members(layers)
    swapped = {name: evil if name.endswith("layer.tar") else data for name, data in members.items()}
    assert "not those that its configuration names" in refused(archive(tmp_path / "a.tar", swapped))
    config = f"{digest(config_bytes(layers))}.json"
    foreign = {**members, config: config_bytes(layers, setting("Cmd", ["evil"]))}
    assert "other digest" in refused(archive(tmp_path / "b.tar", foreign))
    laid_out = oci_members(layers, compress=False)
    name = f"blobs/sha256/{digest(layers[0])}"
    assert "other digest or size" in refused(archive(tmp_path / "c.tar", {**laid_out, name: evil}))
    del laid_out[name]
    assert "not in the archive" in refused(archive(tmp_path / "d.tar", laid_out))


@pytest.mark.parametrize(
    "text", [b"{", b"\xff", b"[" * 100_000, b'[{"Config":"a","Config":"b"}]', b"[NaN]", b"null", b"[[]]", b"5"]
)
@pytest.mark.parametrize("name", ["manifest.json", "index.json"])
def test_09_papers_that_are_not_plain_json_are_refused(text: bytes, name: str, tmp_path: Path) -> None:
    members = docker_members([layer(small_entries())])
    assert "json" in refused(archive(tmp_path / "a.tar", {**members, name: text})).lower()


def test_09_a_key_said_twice_is_refused_for_readers_choose_differently(tmp_path: Path) -> None:
    members = docker_members([layer(small_entries())])
    twice = members["manifest.json"].replace(b'{"Config"', b'{"Config": "other.json", "Config"')
    assert "a key is repeated" in refused(archive(tmp_path / "a.tar", {**members, "manifest.json": twice}))


def test_09_layers_to_be_fetched_from_elsewhere_are_refused(tmp_path: Path) -> None:
    members = oci_members([layer(small_entries())])
    index = json.loads(members["index.json"])
    index["manifests"][0]["urls"] = ["http://elsewhere.example"]
    assert "fetched from elsewhere" in refused(
        archive(tmp_path / "a.tar", {**members, "index.json": json.dumps(index).encode()})
    )


def test_09_an_index_within_itself_ends(tmp_path: Path) -> None:
    inner = b'{"manifests": []}'
    for _ in range(10):
        descriptor = {"digest": f"sha256:{digest(inner)}", "size": len(inner)}
        inner = json.dumps({"manifests": [descriptor]}).encode()
    path = archive(tmp_path / "a.tar", {"index.json": inner, f"blobs/sha256/{digest(inner)}": inner})
    assert "not in the archive" in refused(path)


def test_the_archive_may_not_hold_a_file_twice(tmp_path: Path) -> None:
    members = [entry(name, data) for name, data in docker_members([layer(small_entries())]).items()]
    assert "twice" in refused(archive(tmp_path / "a.tar", [*members, members[-1]]))


# 10 to 14: configuration


@pytest.mark.parametrize("change", [{"architecture": "arm64"}, {"os": "windows"}, {"architecture": None}])
def test_10_another_architecture_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    assert "--platform linux/amd64" in refused(image(tmp_path, change=lambda config: config.update(change)))


@pytest.mark.parametrize(
    "user", ["", None, "root", "0", "00", "0:1000", "1000:0", "ghost", "sneaky", "99999999999", "root:model"]
)
def test_11_root_in_any_disguise_is_refused(user: str | None, tmp_path: Path) -> None:
    assert "its USER" in refused(image(tmp_path, change=setting("User", user)))


@pytest.mark.parametrize(
    ("user", "number"), [("model", "1000:1000"), ("1000", "1000:1000"), ("77", "77:77"), ("5:6", "5:6")]
)
def test_11_an_ordinary_user_becomes_numbers(user: str, number: str, tmp_path: Path) -> None:
    assert inspect_image(image(tmp_path, change=setting("User", user)), AMD).user == number


def test_11_accounts_are_read_from_the_last_layer_that_has_them(tmp_path: Path) -> None:
    first, later = layer(small_entries()), layer([entry("etc/passwd", b"model:x:0:0::/:/bin/sh\n")])
    path = image(tmp_path, layers=[first, later], change=setting("User", "model"))
    assert "is root" in refused(path)
    removed = layer([entry("etc/.wh.passwd")])
    path = image(tmp_path, layers=[first, removed], change=setting("User", "model"))
    assert "not in its /etc/passwd" in refused(path)
    linked = layer([link("etc/passwd", "/proc/1/x")])
    assert "must be a plain file" in refused(image(tmp_path, layers=[first, linked], change=setting("User", "model")))


def test_12_13_odd_settings_and_dangerous_variables_are_not_carried_over(tmp_path: Path) -> None:
    odd = {
        "Volumes": {"/data": {}},
        "Healthcheck": {"Test": ["CMD", "x"]},
        "OnBuild": ["RUN x"],
        "StopSignal": "SIGCONT",
        "Env": ["PATH=/bin", "LD_PRELOAD=/evil.so", "NVIDIA_VISIBLE_DEVICES=all", "ld_audit=x", "MODEL=a=b"],
    }
    facts = write_clean_image(
        image(tmp_path, change=lambda config: config["config"].update(odd)), tmp_path / "clean.tar", AMD
    )
    assert facts.notes == (
        "variables not carried over: LD_PRELOAD, NVIDIA_VISIBLE_DEVICES, ld_audit",
        "settings not carried over: Healthcheck, OnBuild, StopSignal, Volumes",
    )
    with tarfile.open(tmp_path / "clean.tar") as clean:
        config = json.load(clean.extractfile(f"{facts.clean_digest[7:]}.json"))  # type: ignore[arg-type]
    assert set(config["config"]) == {"User", "Entrypoint", "Cmd", "Env", "WorkingDir"}
    assert config["config"]["Env"] == ["PATH=/bin", "MODEL=a=b"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("Entrypoint", "sh -c x"),
        ("Cmd", [1]),
        ("Env", ["novalue"]),
        ("Env", ["A=x\nLD_PRELOAD=y"]),
        ("Cmd", ["x" * 70_000]),
    ],
)
def test_12_settings_of_the_wrong_shape_are_refused(key: str, value: Any, tmp_path: Path) -> None:
    assert key in refused(image(tmp_path, change=setting(key, value)))


def test_12_an_image_that_starts_nothing_is_refused(tmp_path: Path) -> None:
    def nothing(config: dict[str, Any]) -> None:
        config["config"].update(Entrypoint=None, Cmd=[])

    assert "starts nothing" in refused(image(tmp_path, change=nothing))


@pytest.mark.parametrize("place", ["input", "output", "run", "run/surgvalid", "tmp", "proc", "dev", "etc"])
def test_14_a_link_where_the_engine_mounts_is_refused(place: str, tmp_path: Path) -> None:
    layers = [layer([entry("bin/tool")]), layer([link(place, "/bin")])]
    assert f"/{place} is a symbolic link" in refused(image(tmp_path, layers=layers))


def test_14_a_file_there_is_refused_and_what_a_later_layer_replaces_does_not_count(tmp_path: Path) -> None:
    assert "/output is a file" in refused(image(tmp_path, entry("output")))
    bad = layer([*small_entries(), link("output", "/etc"), link("run", "/etc")])
    good = layer([entry(".wh.output"), folder("run")])
    assert inspect_image(image(tmp_path, layers=[bad, good]), AMD)


# the clean copy


def clean_entries(path: Path) -> list[tarfile.TarInfo]:
    with tarfile.open(path) as outer:
        inner = [outer.extractfile(name).read() for name in outer.getnames() if name.endswith(".tar")]  # type: ignore[union-attr]
    return [info for data in inner for info in tarfile.open(fileobj=io.BytesIO(data)).getmembers()]


def test_the_clean_copy_holds_the_same_files_and_names_itself_by_digest(tmp_path: Path) -> None:
    long = "d" * 200 + "/" + "é" * 90
    stranger, data = entry("owned", b"12345")
    stranger.uid, stranger.gid, stranger.mtime = 1_000_000, 20, 1_700_000_000
    path = image(tmp_path, entry(long, b"abc"), link("l", "/bin/tool"), (stranger, data))
    facts = write_clean_image(path, tmp_path / "clean.tar", AMD)
    found = {info.name: info for info in clean_entries(tmp_path / "clean.tar")}
    places = {"input", "output", "run", "run/surgvalid", "tmp"}
    assert set(found) == {"bin", "etc", "etc/passwd", "bin/tool", long, "l", "owned"} | places
    assert (found["owned"].uid, found["owned"].gid, found["owned"].mtime) == (65534, 20, 1_700_000_000)
    assert found["l"].linkname == "/bin/tool"
    again = inspect_image(tmp_path / "clean.tar", AMD)
    assert again.digest == facts.clean_digest == again.clean_digest


def test_mount_points_come_last_and_are_open_whatever_the_image_has_there(tmp_path: Path) -> None:
    closed = [entry("output/stale"), folder("tmp", 0o700), folder("run", 0), folder("input", 0)]
    facts = write_clean_image(image(tmp_path, *closed), tmp_path / "clean.tar", AMD)
    modes = {info.name: info.mode for info in clean_entries(tmp_path / "clean.tar") if info.isdir()}
    places = {"output": 0o1777, "run/surgvalid": 0o1777, "tmp": 0o1777, "run": 0o755, "input": 0o755}
    assert {name: modes[name] for name in places} == places
    assert facts.layers == 1
    with tarfile.open(tmp_path / "clean.tar") as clean:
        manifest = json.load(clean.extractfile("manifest.json"))  # type: ignore[arg-type]
    assert manifest[0]["Layers"][-1] == "mount-points.tar"


def test_nothing_is_left_of_a_refused_image(tmp_path: Path) -> None:
    with pytest.raises(ImageRefused):
        write_clean_image(image(tmp_path, entry("../x")), tmp_path / "clean.tar", AMD)
    assert not (tmp_path / "clean.tar").exists()
