"""A shard's headers are read as far as headers go, whatever length they claim."""

import tarfile

import pytest

from brittle.errors import BrittleError
from brittle.images.shards import LONGEST_HEADER, members_of


def shard(path, comment):
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        info = tarfile.TarInfo("a.png")
        info.pax_headers = {"comment": comment}
        archive.addfile(info)


@pytest.mark.parametrize("bytes", [LONGEST_HEADER, 1 << 24])
def test_a_giant_header_of_a_shard_is_refused(tmp_path, bytes):
    shard(tmp_path / "a.tar", "x" * bytes)
    with pytest.raises(BrittleError, match="a header is longer than 64 KB"):
        list(members_of(tmp_path / "a.tar"))
    shard(tmp_path / "a.tar", "x" * (LONGEST_HEADER // 2))
    assert [each.key for each in members_of(tmp_path / "a.tar")] == ["a"]


def test_a_header_that_only_claims_to_be_giant_is_refused_unread(tmp_path):
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.XHDTYPE, 1 << 40
    with (tmp_path / "a.tar").open("wb") as file:
        file.write(header.tobuf(tarfile.GNU_FORMAT))
        file.truncate(1 << 36)  # sparse: 64 GB that nobody wrote
    with pytest.raises(BrittleError, match="a header is longer than 64 KB"):
        list(members_of(tmp_path / "a.tar"))


@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_header_of_negative_length_is_refused(tmp_path, kind):
    header = tarfile.TarInfo("x")
    header.type = kind
    block = bytearray(header.tobuf(tarfile.GNU_FORMAT))
    block[124:136] = b"\xff" * 10 + b"\xfc\x00"  # −1,024 in base 256
    block[148:156] = f"{sum(block[:148]) + 8 * 32 + sum(block[156:512]):06o}\0 ".encode()
    (tmp_path / "a.tar").write_bytes(bytes(block) + bytes(2048))
    with pytest.raises(BrittleError, match="can't be read as a tar file"):
        list(members_of(tmp_path / "a.tar"))


def test_a_shard_of_headers_alone_is_refused(tmp_path):
    header = tarfile.TarInfo("x")
    header.type = tarfile.XGLTYPE
    (tmp_path / "a.tar").write_bytes(header.tobuf(tarfile.GNU_FORMAT) * 5000)
    with pytest.raises(BrittleError, match="can't be read as a tar file"):
        list(members_of(tmp_path / "a.tar"))
