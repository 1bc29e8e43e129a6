"""One process at a time works on a run folder; the lock goes with the process, however it ends."""

import time

import tomli_w


def test_a_second_process_is_refused_and_a_killed_one_leaves_no_lock(things, start, cli):
    file = things.folder / "study.toml"
    file.write_text(tomli_w.dumps(things.study()))
    (things.folder / "delay").write_text("0.2")
    first = start("run", file, "--out", things.out, "--batch", 8)
    while not things.unit_files():
        assert first.poll() is None, first.communicate()
        time.sleep(0.02)
    line = cli("run", file, "--out", things.out).complaint(2)
    assert f"is in use by another process (process {first.pid} on " in line
    assert first.poll() is None
    first.kill()
    first.wait()
    (things.folder / "delay").unlink()
    said = cli("run", file, "--out", things.out, "--json")
    assert said.status == 0, said
    assert len(said.json["measures"]["robustness"]["results"]) == 3
