"""Plans are computed as they are read, and hold every pair of an image and a place on the axis once."""

import itertools

import pytest

from brittle.measures.plan import Grid, Span, Unit, covering

GRIDS = [
    Grid(images, axis, per_unit, stretch, by_round)
    for images, axis, per_unit, stretch, by_round in itertools.product(
        (1, 7, 12), (1, 5, 6), (1, 3, 7, 20), (1, 2, 6, 9), (False, True)
    )
]


def rectangles(grid: Grid) -> list[Unit]:
    """The same by brute force: every rectangle, image block by image block, or stretch by stretch."""
    blocks = [
        range(at, min(at + grid.images_per_unit, grid.images)) for at in range(0, grid.images, grid.images_per_unit)
    ]
    stretches = [range(at, min(at + grid.axis_per_unit, grid.axis)) for at in range(0, grid.axis, grid.axis_per_unit)]
    if grid.by_round:
        return [Unit(block, stretch) for stretch in stretches for block in blocks]
    return [Unit(block, stretch) for block in blocks for stretch in stretches]


def test_a_grid_is_the_list_of_its_rectangles():
    for grid in GRIDS:
        units = rectangles(grid)
        assert list(grid) == units
        assert len(grid) == len(units)
        assert [grid[place] for place in range(-len(units), 0)] == units
        assert grid[1:4] == units[1:4]
        assert grid[-2:] == units[-2:]
        with pytest.raises(IndexError):
            grid[len(units)]


def test_every_image_has_every_place_on_the_axis_once():
    for grid in GRIDS:
        pairs = [(image, place) for unit in grid for image in unit.images for place in unit.axis]
        assert len(pairs) == len(set(pairs)) == grid.images * grid.axis == sum(unit.size for unit in grid)


def test_the_units_that_hold_some_images_are_those_found_by_looking_at_all():
    for grid in GRIDS:
        for first, end in itertools.combinations(range(0, grid.images + 3, 2), 2):
            wanted = [place for place, unit in enumerate(grid) if set(unit.images) & set(range(first, end))]
            for plan in (grid, list(grid)):
                assert [place for span in covering(plan, first, end) for place in range(*span)] == wanted
            spans = covering(grid, first, end)
            assert all(one.end < other.first for one, other in itertools.pairwise(spans)) or grid.by_round
            assert all(span.first < span.end for span in spans)


def test_units_of_any_images_are_found_too():
    plan = [Unit((4, 1), range(2)), Unit((), range(1)), Unit((2, 9), range(2))]
    assert covering(plan, 1, 2) == [Span(0, 1)]
    assert covering(plan, 2, 5) == [Span(0, 1), Span(2, 3)]
    assert covering(plan, 5, 9) == []


def test_a_plan_of_a_million_million_units_takes_no_memory():
    grid = Grid(10**9, 1000, 1, 1)
    assert len(grid) == 10**12
    assert grid[10**12 - 1] == Unit(range(10**9 - 1, 10**9), range(999, 1000))
    assert covering(grid, 5, 7) == [Span(5000, 7000)]
