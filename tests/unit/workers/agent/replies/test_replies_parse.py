"""Reading replies: every shape that models really send, and nothing taken for whole that was cut."""

from __future__ import annotations

import json

import pytest
from agent_kit import call, said

from core.steps import OUR_CALLS, Replied, ToolCall
from workers.agent.replies.intents import Intent, Malformed, Question, Report, RunPython
from workers.agent.replies.loose_json import Unreadable, read_json
from workers.agent.replies.parse import read_reply
from workers.agent.replies.tools import run_python
from workers.agent.replies.verdict import Verdict, read_verdict


def native(name: str, arguments: str) -> Intent:
    reply = Replied(purpose="act", calls=(ToolCall(id="c1", name=name, arguments=arguments),))
    (intent,) = read_reply(reply, 1).intents
    return intent


def text(words: str, *, end: str = "stop") -> Intent:
    (intent,) = read_reply(said(text=words, end=end), 1).intents
    return intent


@pytest.mark.parametrize(
    "name",
    ["run_python", "python", "functions.run_python", "Run_Python", "code_interpreter", "run-python", "execute",
     "run_python<|channel|>commentary", "default_api:run_python", " python_inter "],
)  # fmt: skip
def test_names_that_models_invent_for_run_python_run(name: str) -> None:
    assert native(name, '{"code": "print(1)", "title": "One"}') == RunPython("c1", "print(1)", "One")


@pytest.mark.parametrize("opening", ["", "```", "~~~", "<think>", "<code>\n", "final answer:", "- ", "{", "["])
@pytest.mark.parametrize("filler", ["x", " ", "\n", "` ", "# ", "ok. ", "< ", "[", '"', "~", "`"])
def test_a_long_reply_of_one_thing_is_read_in_one_go(opening: str, filler: str) -> None:
    """A pattern that begins anew at each character would go on past the suite's limit for a test."""
    read_reply(said(text=opening + filler * (400_000 // len(filler)) + "."), 1)


@pytest.mark.parametrize("filler", [" ", "\n", "\t\n", "```"])
@pytest.mark.parametrize("end", ["", "x", "```"])
def test_code_of_one_thing_is_read_in_one_go(filler: str, end: str) -> None:
    run_python("c1", f"```{filler}\nx\n{filler * 100_000}{end}")


@pytest.mark.parametrize("name", ["delete_everything", "", "📎", "run_sql"])
def test_an_unknown_tool_is_told_to_the_model(name: str) -> None:
    intent = native(name, "{}")
    assert isinstance(intent, Malformed)
    assert intent.reason == "unknown_tool"


@pytest.mark.parametrize("name", ["tickets.complete", "crm/answer", "jira:run", "desk.report"])
def test_a_tool_of_another_system_is_none_of_ours(name: str) -> None:
    intent = native(name, '{"ticket": 7}')
    assert isinstance(intent, Malformed)
    assert (intent.reason, intent.detail) == ("unknown_tool", name)


@pytest.mark.parametrize(
    "arguments",
    [
        '{"code": "print(1)"}',
        '{"code": "```python\\nprint(1)\\n```"}',
        '{"code": ["print(1)"]}',
        '{"python": "print(1)"}',
        '{"source": "print(1)", "language": "python"}',
        '[{"code": "print(1)"}]',
        '{"arguments": {"code": "print(1)"}}',
        '{"parameters": "{\\"code\\": \\"print(1)\\"}"}',
        '"{\\"code\\": \\"print(1)\\"}"',
        '"print(1)"',
        "print(1)",
        "```python\nprint(1)\n```",
        "~~~\nprint(1)\n~~~",
        "{'code': 'print(1)'}",
        '{"code": "print(1)",}',
        '{"code": "print(1)"',
        '{"code": "print(1)"}<|im_end|>',
        '```json\n{"code": "print(1)"}\n```',
        '{"code": "\\n\\n    print(1)\\n"}',
    ],
)
def test_code_is_found_in_arguments_of_any_known_shape(arguments: str) -> None:
    intent = native("run_python", arguments)
    assert isinstance(intent, RunPython)
    assert intent.code == "print(1)"


def test_line_breaks_that_were_not_escaped_are_read() -> None:
    intent = native("run_python", '{"code": "x = 1\nprint(x)"}')
    assert intent == RunPython("c1", "x = 1\nprint(x)", "x = 1")


def test_a_bare_program_that_holds_a_dict_is_not_mistaken_for_json() -> None:
    code = 'd = {"code": "print(2)"}\nprint(d)'
    intent = native("run_python", code)
    assert isinstance(intent, RunPython)
    assert intent.code == code


def test_blank_lines_indentation_and_strings_of_a_program_are_left_alone() -> None:
    code = 'def f():\n\n    return """a\n\n  b"""\n\n\nprint(f())'
    intent = native("run_python", json.dumps({"code": code}))
    assert isinstance(intent, RunPython)
    assert intent.code == code


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("run_python", '{"code": "df[df.x > 12', "cut_off"),
        ("run_python", '{"code": "x = 12', "cut_off"),
        ("finish", '{"report": "The total is 1', "cut_off"),
        ("finish", '{"report": nonsense', "bad_arguments"),
        ("run_python", "{code: print(1)}", "bad_arguments"),
        ("run_python", "", "empty_code"),
        ("run_python", "{}", "empty_code"),
        ("run_python", '{"title": "Load"}', "empty_code"),
        ("run_python", '{"code": "  \\n "}', "empty_code"),
        ("run_python", '{"code": "```python\\n```"}', "empty_code"),
        ("run_python", '{"code": "ls", "language": "bash"}', "wrong_language"),
        ("ask_user", '{"options": ["a"]}', "empty_question"),
        ("finish", '{"report": ""}', "empty_report"),
    ],
)
def test_what_cannot_be_acted_on_says_why(name: str, arguments: str, reason: str) -> None:
    intent = native(name, arguments)
    assert isinstance(intent, Malformed)
    assert intent.reason == reason


@pytest.mark.parametrize(
    "arguments", ['{"answer": "# Done"}', '"# Done"', "# Done", '{"report": ["# Done"]}', '{"x": "# Done"}']
)
def test_a_report_is_found_in_any_known_shape(arguments: str) -> None:
    assert native("final_answer", arguments) == Report("c1", "# Done")


@pytest.mark.parametrize(
    "options",
    [
        ["2023", "2024"],
        "2023, 2024",
        "2023; 2024",
        "2023\n2024",
        [{"label": "2023"}, {"text": "2024"}],
        ["2023", "2023", "- 2024"],
    ],
)
def test_options_are_read_as_short_distinct_answers(options: object) -> None:
    assert native("ask_user", json.dumps({"question": "Year?", "options": options})) == Question(
        "c1", "Year?", ("2023", "2024")
    )


def test_the_minus_of_an_option_is_no_mark_of_a_list() -> None:
    intent = native("ask_user", '{"question": "Which rate?", "options": ["-5%", "5%", "- none", "* **all**"]}')
    assert isinstance(intent, Question)
    assert intent.options == ("-5%", "5%", "none", "all")


def test_options_are_few() -> None:
    intent = native("ask_user", json.dumps({"question": "Which?", "options": [f"{n} " + "x" * 900 for n in range(40)]}))
    assert isinstance(intent, Question)
    assert len(intent.options) == 8
    assert all(len(option) == 300 for option in intent.options)


WHOLE = (
    "How did the monthly revenue (column amount, without returns) change from 2023 to 2024, for each region?",
    "Which ten customers (column customer_id) bought the most by amount in 2024, and what did they buy most often?",
    "In which weeks of 2024 were there more returns than in the same week of 2023, counted by order_date?",
)


@pytest.mark.parametrize("options", [list(WHOLE), "\n".join(WHOLE), [{"label": each} for each in WHOLE]])
def test_an_option_may_be_a_whole_question(options: object) -> None:
    assert native("ask_user", json.dumps({"question": "Which?", "options": options})) == Question("c1", "Which?", WHOLE)


def test_a_parallel_wrapper_is_several_calls() -> None:
    uses = [{"recipient_name": "functions.run_python", "parameters": {"code": code}} for code in ("a = 1", "b = 2")]
    reply = said(call("multi_tool_use.parallel", "m", tool_uses=uses))
    reading = read_reply(reply, 1)
    assert [intent.code for intent in reading.intents if isinstance(intent, RunPython)] == ["a = 1", "b = 2"]
    assert len({intent.call_id for intent in reading.intents}) == 2


@pytest.mark.parametrize("given", ["reset", "approve:1", "confirm:1a", "hold-1", "own:1.0", "own:startup:1"])
def test_no_call_of_a_model_has_an_id_of_our_own_questions(given: str) -> None:
    reading = read_reply(said(call("ask_user", given, question="Go on?"), call("run_python", f"call-{given}")), 1)
    ids = [intent.call_id for intent in reading.intents]
    assert not any(call_id.startswith(OUR_CALLS) for call_id in ids)
    assert len(set(ids)) == 2


def test_broken_escapes_never_become_text_that_cannot_be_stored() -> None:
    intent = native("run_python", '{"code": "print(\\"\\ud800\\u0000\\")"}')
    assert isinstance(intent, RunPython)
    assert intent.code.encode("utf-8")
    assert "\x00" not in intent.code


# --- text


@pytest.mark.parametrize(
    "words",
    [
        "Load it\n```python\nprint(1)\n```",
        "Load it\n```py\nprint(1)\n```\nThe output will be 7.",
        "Load it\n```\nprint(1)\n```",
        "Load it\n~~~python\nprint(1)\n~~~",
        "Load it\n````python\nprint(1)\n````",
        "Load it\n<code>\nprint(1)\n</code>",
        "Load it\n```python\nprint(1)",
        'Load it\n<tool_call>{"name": "run_python", "arguments": {"code": "print(1)", "title": "Load it"}}</tool_call>',
        "<think>maybe\n```python\nprint(2)\n```</think>Load it\n```python\nprint(1)\n```",
        "maybe\n```python\nprint(2)\n```\n</think>\n\nLoad it\n```python\nprint(1)\n```",
    ],
)
def test_code_in_text_runs(words: str) -> None:
    assert text(words) == RunPython("reply-1", "print(1)", "Load it")


@pytest.mark.parametrize(
    "words",
    ['{"name": "run_python", "parameters": {"code": "print(1)"}}', '{"code": "print(1)"}', "<|python_tag|>print(1)"],
)
def test_a_call_written_as_text_is_a_call(words: str) -> None:
    intent = text(words)
    assert isinstance(intent, RunPython)
    assert intent.code == "print(1)"


@pytest.mark.parametrize(
    "words",
    [
        "<tool_call>\n<function=run_python>\n<parameter=code>\nprint(1)\n</parameter>\n</function>\n</tool_call>",
        'I look.\n[TOOL_CALLS]run_python{"code": "print(1)"}',
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>run_python",
        '<|tool_call_begin|>functions.run_python:0<|tool_call_argument_begin|>{"code": "print(1)"}<|tool_call_end|>',
        '<function_calls>\n<invoke name="run_python">\n<parameter name="code">print(1)</parameter>\n</invoke>',
        '<|channel|>commentary to=functions.run_python <|constrain|>json<|message|>{"code": "print(1)"}<|call|>',
        '<tool_call>{"name": "run_python", "arguments": {"code": "print(1)\ny = \'abc</tool_call>',
    ],
)
def test_a_call_in_a_form_that_nobody_read_is_no_answer(words: str) -> None:
    intent = text(words)
    assert isinstance(intent, Malformed)
    assert intent.reason == "text_only"


def test_outputs_that_a_model_imagines_behind_its_code_are_not_remembered() -> None:
    reply = said(text="Look\n```python\nprint(1)\n```\nOutput: 42\n```python\nprint(2)\n```\n<finish>42</finish>")
    reading = read_reply(reply, 1)
    assert reading.text == "Look\n```python\nprint(1)\n```"
    assert reading.intents == (RunPython("reply-1", "print(1)", "Look"),)


def test_a_fence_inside_a_string_does_not_end_the_program() -> None:
    code = 'note = """\n```\nx\n```\n"""\nprint(note)'
    assert text(f"```python\n{code}\n```") == RunPython("reply-1", code, 'note = """')


def test_fences_of_other_languages_are_not_run() -> None:
    intent = text('The shape is\n```json\n{"a": 1}\n```\nand\n```python\nprint(1)\n```')
    assert intent == RunPython("reply-1", "print(1)", "and")


@pytest.mark.parametrize(
    "words", ["<finish>\n# Done\n</finish>", "<finish># Done", "All clear.\nFinal answer: # Done", "最终答案：# Done"]
)
def test_a_report_in_text_is_found(words: str) -> None:
    assert text(words) == Report("reply-1", "# Done")


@pytest.mark.parametrize(
    "words",
    [
        "I run this first. The report comes in <finish>…</finish>.\n",
        "I shall put the answer in `<finish>` when I have it.\n",
        "The words between <finish> and </finish> are the report, so they come last.\n",
        "I shall not use <ask> for this.\n",
    ],
)
def test_a_tag_that_a_sentence_speaks_of_is_no_action(words: str) -> None:
    assert text(f"{words}```python\n# Look\nprint(1)\n```") == RunPython("reply-1", "# Look\nprint(1)", "Look")


def test_a_report_is_found_behind_a_sentence_that_speaks_of_its_tag() -> None:
    words = "The cells agree, so this is for `<finish>`.\n<finish>\n# Done\n</finish>"
    assert text(words) == Report("reply-1", "# Done")


def test_a_report_in_the_midst_of_a_line_is_found() -> None:
    assert text("All is said. <finish># Done</finish>") == Report("reply-1", "# Done")


def test_a_reply_that_only_speaks_of_the_report_is_none() -> None:
    intent = text("Let me load the file first. The report comes in `<finish>` …")
    assert isinstance(intent, Malformed)
    assert intent.reason == "text_only"


def test_code_inside_a_report_is_part_of_the_report() -> None:
    assert text("<finish>Use\n```python\nx\n```\n</finish>") == Report("reply-1", "Use\n```python\nx\n```")


def test_a_question_in_text_has_its_list_as_options() -> None:
    assert text("<ask>\nWhich year?\n- 2023\n- 2024\n</ask>") == Question("reply-1", "Which year?", ("2023", "2024"))


@pytest.mark.parametrize(
    "words", ["```python\nx = (1,", "```python\nx = 12", "<finish>The total is", "The plan is to", "<think>so the"]
)
def test_a_reply_that_ran_out_of_tokens_is_cut_off(words: str) -> None:
    intent = text(words, end="length")
    assert isinstance(intent, Malformed)
    assert intent.reason == "cut_off"


@pytest.mark.parametrize(
    "words",
    [
     "Let me load the data.", "Plan:\n1. load\n2. plot\n\nI'll start by loading the file.",
     "Okay, now let me check this…",
     "Here is what comes:", "好的，我来加载数据。", "计划如下。\n\n接下来读取文件", "Now I am going to plot it.",
     "Ich lade jetzt die Datei und schaue mir die Spalten an.", "Zuerst werde ich die Spalten prüfen.",
     "Voy a cargar el archivo y mirar las columnas.", "D’abord, je vais charger le fichier.",
     "まずファイルを読み込みます。"],
)  # fmt: skip
def test_an_announcement_is_no_answer(words: str) -> None:
    intent = text(words)
    assert isinstance(intent, Malformed)
    assert intent.reason == "text_only"


@pytest.mark.parametrize(
    "words",
    [
     "Nord führt mit 42 EUR. Als Nächstes sollte man die Retouren prüfen.",
     "El norte vende más: 42 EUR. Primero conviene revisar las devoluciones.",
     "Le nord vend le plus : 42 EUR. Ensuite, il faudrait vérifier les retours.",
     "北部が42ユーロで最多です。次に返品を確認することをお勧めします。",
     "Hello! I can help with data.", "North leads with 12%. Let me know if you want more.",
     "结论：北区最高，共 12 万元。",
     "I will be here if anything is unclear.", "Revenue fell by 3%. Should I look at margins, too? It grew in 2023."],
)  # fmt: skip
def test_an_answer_in_plain_text_is_a_report(words: str) -> None:
    assert text(words) == Report("reply-1", words)


def test_thoughts_whose_opening_tag_the_server_kept_are_no_part_of_an_answer() -> None:
    assert text("They ask for regions. South, perhaps 9?</think>\n\nNorth leads.") == Report("reply-1", "North leads.")


def test_a_closing_tag_inside_code_is_code() -> None:
    code = 'answers = text.split("</think>")'
    assert text(f"Split\n```python\n{code}\n```") == RunPython("reply-1", code, "Split")


@pytest.mark.parametrize("words", ["", "   \n", "<think>hm</think>", "hm</think>"])
def test_nothing_is_an_empty_reply(words: str) -> None:
    assert text(words) == Malformed("reply-1", "empty_reply")


# --- JSON and verdicts


@pytest.mark.parametrize("broken", ["", "no json", "{a: b}", '{"a": "b', "[" * 5000, "x" * 500_000])
def test_json_that_is_none_is_refused_without_a_crash(broken: str) -> None:
    with pytest.raises(Unreadable):
        read_json(broken)


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ('{"is_final": true}', Verdict(True)),
        ('{"is_final": false, "reason": "no chart"}', Verdict(False, "no chart")),
        ('```json\n{"is_final": true}\n```', Verdict(True)),
        ('[{"is_final": true}]', Verdict(True)),
        ('[{"note": 1}, {"is_final": "False", "why": "x"}]', Verdict(False, "x")),
        ('Sure! {"is_final": "true"} Hope it helps.', Verdict(True)),
        ('{"is_final": true', Verdict(True)),
        ("{'is_final': False}", Verdict(False)),
        ("is_final: true", Verdict(True)),
        ("True", Verdict(True)),
        ("The report is final: yes", Verdict(True)),
        ("false, the months are missing", Verdict(False, "false, the months are missing")),
        ('<think>{"is_final": false}</think>{"is_final": true}', Verdict(True)),
        ('At first {"is_final": true}\n</think>\n{"is_final": false, "reason": "x"}', Verdict(False, "x")),
        ("", Verdict(False)),
        ("   ", Verdict(False)),
        ("It is neither true nor false", None),
        ("hm", None),
        ('{"verdict": "maybe"}', None),
    ],
)
def test_a_verdict_is_read_from_whatever_the_judge_says(reply: str, verdict: Verdict | None) -> None:
    assert read_verdict(reply) == verdict
