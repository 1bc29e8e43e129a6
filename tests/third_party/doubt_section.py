"""What the measure `doubt` shows of itself: a table, and at the head of the report the classifier that doubts most."""

from brittle.extend import BaseSection, blocks, register_section


@register_section("doubt")
class DoubtSection(BaseSection):
    title = "Doubt"

    def brief(self, summary):
        return [blocks.Group(self.title, (entropies(summary),))]

    def blocks(self, run):
        return [entropies(run.summary), blocks.Sentence("0 nats: always sure; ln 2: a coin.", "definition")]

    def top(self, run):
        most = max(run.summary["results"], key=lambda row: row["entropy"])
        text = (blocks.ClassifierName(most["classifier"]), f" doubts {most['image_set']} most.")
        return [blocks.Weighted(blocks.Sentence(text, "finding"), 0.4, ("doubt", most["image_set"]))]


def entropies(summary):
    rows = [
        (blocks.ClassifierName(row["classifier"]), row["image_set"], blocks.Estimate(row["entropy"], unit="nats"))
        for row in summary["results"]
    ]
    return blocks.Table(("classifier", "doubts", "entropy"), tuple(rows))
