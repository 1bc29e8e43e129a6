"""A folder on a disk, seen by one thread while another writes into it."""

import threading

from brittle.engine.store.filesystem import Filesystem


def test_a_folder_that_is_made_while_it_is_listed_is_empty_or_has_its_files(tmp_path):
    disk, wrong = Filesystem(), list[object]()
    folders = [tmp_path / str(number) for number in range(300)]

    def listed() -> None:
        for folder in folders:
            while True:
                try:
                    if disk.names(str(folder)) == ["one"]:
                        break
                except OSError as error:
                    wrong.append(error)

    reader = threading.Thread(target=listed)
    reader.start()
    for folder in folders:
        disk.commit(str(folder / "one"), b"1")
    reader.join()
    assert wrong == []
