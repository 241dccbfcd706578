"""The few messages that are a wish to us and no question: stop, undo, reset, continue, and yes or no to a question of
ours. A message must say one of them and nothing else: "stop counting refunds" is a question."""

from __future__ import annotations

import unicodedata

STOP = frozenset(
    {
        *("stop", "please stop", "stop please", "stop it", "stop now", "stop this", "cancel", "cancel it", "abort"),
        *("停", "停止", "停下", "停下来", "停一下", "请停止", "请停下", "取消", "终止", "中止", "停止分析", "取消分析"),
    }
)
UNDO = frozenset(
    {
        *("undo", "please undo", "undo please", "undo it", "undo that", "undo this", "undo last", "undo the last step"),
        *(
            "undo the last cell",
            "撤销",
            "请撤销",
            "撤消",
            "请撤消",
            "撤回",
            "请撤回",
            "撤销上一步",
            "回退",
            "回到上一步",
        ),
    }
)
RESET = frozenset(
    {
        *("reset", "please reset", "reset please", "reset it", "reset the session", "reset session", "start over"),
        *("重置", "请重置", "重置会话", "清空会话", "重新开始"),
    }
)
CONTINUE = frozenset(
    {
        *("continue", "please continue", "continue please", "go on", "please go on", "carry on", "resume"),
        *("try again", "please try again", "retry"),
        *("继续", "请继续", "继续吧", "继续分析", "继续做", "接着做", "再试一次", "重试"),
    }
)
YES = frozenset(
    {"yes", "y", "yes please", "ok", "okay", "sure", "do it", "是", "是的", "好", "好的", "确认", "确定", "可以"}
)
NO = frozenset(
    {"no", "n", "no thanks", "nope", "keep it", "不", "不是", "否", "不要", "不用", "不用了", "算了", "不了"}
)

_MAX_CHARS = 40
_MARKS = " \t\r\n.!?,。！？，~…"


def says(text: str, words: frozenset[str]) -> bool:
    """Whether a text says nothing but one of these, in any case and with any marks around it."""
    if len(text) > _MAX_CHARS:
        return False
    plain = unicodedata.normalize("NFKC", text).casefold().strip(_MARKS)
    return " ".join(plain.replace(",", " ").split()) in words
