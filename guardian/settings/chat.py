"""How a chat model is reached, and what may be spent on it; each part that asks one has a section of its own."""

from __future__ import annotations

from pydantic import Field, SecretStr

from guardian.settings.section import DAY_S, Section


class ChatSettings(Section):
    """One chat model behind an OpenAI-compatible endpoint, and its budget. Without a model nothing is asked."""

    model: str | None = Field(None, min_length=1, description="Name by which the endpoint knows the model; unset asks nobody.")
    base_url: str = Field("https://api.openai.com/v1", description="Any endpoint that speaks OpenAI's chat completions.")
    api_key: SecretStr | None = Field(None, description="Its key.")
    timeout_s: float = Field(60.0, gt=0, le=DAY_S, description="Longest silence of one try, seconds.")
    deadline_s: float = Field(
        180.0, gt=0, le=DAY_S, description="Longest time of one question with all its tries and pauses, seconds."
    )
    max_retries: int = Field(2, ge=0, le=20, description="Tries after the first.")
    max_answer_bytes: int = Field(1_000_000, ge=1_000, description="Longest answer that is read, bytes.")
    concurrency: int = Field(4, ge=1, le=1_000, description="Questions at once.")
    requests_per_minute: float | None = Field(None, ge=1, description="Questions a minute; unset for no limit.")
    tokens_per_minute: float | None = Field(None, ge=1, description="Tokens a minute, both ways; unset for no limit.")
    tokens_per_day: int | None = Field(None, ge=1, description="Tokens a day (UTC), both ways; unset for no limit.")
    space_tokens_per_day: int | None = Field(None, ge=1, description="Tokens a day for any one space; unset for no limit.")
    cost_per_day: float | None = Field(None, gt=0, description="Money a day, in the unit of the prices; unset for no limit.")
    prompt_price: float = Field(0.0, ge=0, description="Price of a million tokens that are sent.")
    completion_price: float = Field(0.0, ge=0, description="Price of a million tokens that are answered.")
