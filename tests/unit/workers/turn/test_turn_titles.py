"""A cell's title is the model's text: in the thread it leads nowhere and reaches nobody."""

from __future__ import annotations

from turn_world import World, cell, finish

from workers.models.scripted import ScriptedModel

CHART = "import matplotlib\nmatplotlib.use('Agg')\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])"


def test_an_address_in_the_title_of_a_chart_is_shown_as_code_and_not_linked(world: World) -> None:
    world.model = ScriptedModel([cell(CHART, "See https://evil.example/x.png?d=SECRET <!channel>"), finish("Done.")])
    key = world.say("how much was sold?")
    world.settle(key)
    (comment,) = [message["text"] for message in world.messages(key, ours=True) if "png" in str(message.get("files"))]
    assert "`https://evil.example/x.png?d=SECRET`" in comment
    assert "<!channel>" not in comment
