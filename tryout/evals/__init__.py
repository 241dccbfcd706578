"""`threadbook eval`: questions with known answers, asked through the whole product. `docs/eval.md` has the format."""
