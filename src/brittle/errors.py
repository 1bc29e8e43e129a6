"""The one kind of error a user sees: what is wrong, what to do about it, and an exit status."""


class BrittleError(Exception):
    """A mistake the user can fix: one line that says what is wrong, and the remedy. Exit status 2."""

    exit_status = 2

    def __init__(self, what: str, remedy: str = "") -> None:
        self.what, self.remedy = what, remedy
        super().__init__(f"{what.rstrip('.')}. {remedy}".strip() if remedy else what)

    def __reduce__(self) -> tuple[type["BrittleError"], tuple[str, str]]:
        return type(self), (self.what, self.remedy)


class Failure(BrittleError):
    """Something failed that was not a mistake in the user's input: a full disk, NaN outputs. Exit status 1."""

    exit_status = 1


class MissingPackage(BrittleError):
    """An optional package is needed but not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        self._arguments = (package, extra, purpose)
        super().__init__(f"{purpose} needs the package {package!r}", f"Install it with: pip install 'brittle[{extra}]'")

    def __reduce__(self) -> tuple[type["MissingPackage"], tuple[str, str, str]]:  # type: ignore[override]
        return type(self), self._arguments
