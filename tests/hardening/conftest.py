import pytest

import brittle


@pytest.fixture
def sample() -> brittle.ImageSet:
    return brittle.image_set("sample")
