"""The commit of the current folder is reported, and nothing that the folder configures is run to find out."""

import os
import subprocess

import pytest

from brittle.engine.store.git_state import git_state


def git(folder, *arguments):
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit_all(folder):
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")


@pytest.fixture
def repository(tmp_path, monkeypatch):
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "file.txt").write_text("a")
    commit_all(folder)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def program(tmp_path):
    """Leaves a file called `ran` when it is run."""
    file = tmp_path / "program"
    file.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\ncat\n")
    file.chmod(0o755)
    return file


CONFIGURED = {
    "core.fsmonitor": "",
    "core.sshCommand": "",
    "core.gitProxy": "",
    "core.alternateRefsCommand": "",
    "core.pager": "",
    "core.editor": "",
    "core.askPass": "",
    "credential.helper": "",
    "alias.status": "!",
    "diff.external": "",
    "diff.theirs.command": "",
    "diff.theirs.textconv": "",
    "merge.theirs.driver": "",
    "filter.theirs.clean": "",
    "filter.theirs.smudge": "",
    "filter.theirs.process": "",
    "filter.a=b.clean": "",
    "filter.a=b.process": "",
    "filter.a.b.clean": "",
    "uploadpack.packObjectsHook": "",
}


@pytest.mark.parametrize("setting", CONFIGURED)
def test_no_program_that_a_repository_configures_is_run(repository, program, setting):
    name = setting.partition(".")[2].rpartition(".")[0] or "theirs"
    (repository / ".gitattributes").write_text(f"*.txt filter={name} diff=theirs merge=theirs\n")
    commit_all(repository)
    before = git_state()
    assert before == {"commit": git(repository, "rev-parse", "HEAD"), "changed": False}
    git(repository, "config", setting, CONFIGURED[setting] + str(program))
    (repository / "file.txt").write_text("b")  # of the same length, so that git must look inside
    assert git_state() == before | {"changed": True}
    assert not (program.parent / "ran").exists()


def test_a_program_of_a_file_that_the_configuration_includes_is_not_run(repository, program):
    (repository / ".gitattributes").write_text("*.txt filter=theirs\n")
    commit_all(repository)
    for key in ("include.path", "includeIf.gitdir:**.path"):
        git(repository, "config", key, "../more")
    (repository / "more").write_text(f'[filter "theirs"]\n\tclean = {program}\n[core]\n\tfsmonitor = {program}\n')
    (repository / "file.txt").write_text("b")
    assert git_state()["changed"] is True
    assert not (program.parent / "ran").exists()


@pytest.mark.parametrize("where", ["hooks", "elsewhere"])
def test_no_hook_is_run(repository, program, where):
    hooks = repository / ".git" / where
    hooks.mkdir(exist_ok=True)
    for name in ("post-index-change", "fsmonitor-watchman", "query-watchman"):
        (hooks / name).write_bytes(program.read_bytes())
        (hooks / name).chmod(0o755)
    git(repository, "config", "core.hooksPath", str(hooks))
    os.utime(repository / "file.txt", (1, 1))  # so that git would write a fresh index
    index = (repository / ".git" / "index").read_bytes()
    assert git_state()["changed"] is False
    assert (repository / ".git" / "index").read_bytes() == index
    assert not (program.parent / "ran").exists()


def test_a_missing_object_is_not_fetched(repository, program):
    for key, value in {
        "extensions.partialClone": "origin",
        "core.repositoryFormatVersion": "1",
        "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::{program}",
        "protocol.ext.allow": "always",
    }.items():
        git(repository, "config", key, value)
    commit, tree = git(repository, "rev-parse", "HEAD", "HEAD^{tree}").split()
    (repository / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    assert git_state() == {"commit": commit, "changed": None}
    assert not (program.parent / "ran").exists()


def test_the_configuration_of_a_submodule_is_not_used(repository, program):
    inner = repository / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / "file.txt").write_text("a")
    commit_all(inner)
    (repository / ".gitmodules").write_text(
        f'[submodule "inner"]\n\tpath = inner\n\turl = ./x\n\tupdate = !{program}\n'
    )
    commit_all(repository)
    git(inner, "config", "core.fsmonitor", str(program))
    (inner / "file.txt").write_text("b")
    assert git_state()["changed"] is False
    assert not (program.parent / "ran").exists()


def test_another_folder_that_is_called_the_working_tree_is_not_looked_at(repository, tmp_path):
    (tmp_path / "other").mkdir()
    git(repository, "config", "core.worktree", str(tmp_path / "other"))
    assert git_state()["changed"] is False


def test_a_git_that_lies_in_the_folder_is_not_run(repository, program, monkeypatch):
    (repository / "git").write_bytes(program.read_bytes())
    (repository / "git").chmod(0o755)
    for path in (".", "", "." + os.pathsep + os.environ["PATH"]):
        monkeypatch.setenv("PATH", path)
        assert git_state()["changed"] is None
    assert not (program.parent / "ran").exists()


def test_commits_are_found_wherever_git_keeps_them(repository, tmp_path, monkeypatch):
    commit = git(repository, "rev-parse", "HEAD")
    git(repository, "pack-refs", "--all")
    assert git_state() == {"commit": commit, "changed": False}
    git(repository, "worktree", "add", "-q", "-b", "other", str(tmp_path / "tree"))
    monkeypatch.chdir(tmp_path / "tree")
    assert git_state() == {"commit": commit, "changed": False}
    git(repository, "checkout", "-q", "--detach")
    (repository / "below").mkdir()
    monkeypatch.chdir(repository / "below")
    assert git_state() == {"commit": commit, "changed": False}
    (repository / "new").touch()
    assert git_state() == {"commit": commit, "changed": True}
    (repository / ".git" / "info" / "exclude").write_text("new\n")
    assert git_state() == {"commit": commit, "changed": False}


def test_long_hashes_are_commits_too(tmp_path, monkeypatch):
    git(tmp_path, "init", "-q", "--object-format=sha256")
    (tmp_path / "file.txt").write_text("a")
    commit_all(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert git_state() == {"commit": git(tmp_path, "rev-parse", "HEAD"), "changed": False}


@pytest.mark.parametrize("head", ["", "ref: refs/heads/none", "ref: ../../secret", "ref: refs/../../secret", "\0", "x"])
def test_a_head_that_names_no_commit_gives_none(repository, head):
    (repository / "secret").write_text("a" * 40)
    (repository / ".git" / "HEAD").write_text(head)
    assert git_state() is None


def test_a_head_that_is_a_pipe_is_not_waited_for(repository):
    (repository / ".git" / "HEAD").unlink()
    os.mkfifo(repository / ".git" / "HEAD")
    assert git_state() is None
