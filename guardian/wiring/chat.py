"""Chat models with their budgets. No logic."""

from __future__ import annotations

from guardian.chat.budget import Budget, ChatLimits
from guardian.chat.openai_endpoint import OpenAIChat, build_openai_chat
from guardian.errors import ConfigError
from guardian.settings.chat import ChatSettings


def build_chat(settings: ChatSettings, *, section: str) -> OpenAIChat:
    """Build the model of a section; nothing is asked yet.

    Args:
        settings: The section.
        section: Its name as settings write it, such as GUARDIAN_INDUCE; errors name it.

    Raises:
        ConfigError: No model is set, the extra is missing, or the address is none.
    """
    if settings.model is None:
        raise ConfigError("no model is set.", setting=f"{section}__MODEL", mend=f"set {section}__MODEL and {section}__BASE_URL.")
    return build_openai_chat(
        model=settings.model,
        base_url=settings.base_url,
        api_key=settings.api_key,
        timeout_s=settings.timeout_s,
        deadline_s=settings.deadline_s,
        max_retries=settings.max_retries,
        max_answer_bytes=settings.max_answer_bytes,
        section=section,
    )


def build_budget(settings: ChatSettings) -> Budget:
    """Build the account that the questions of one process are paid from."""
    return Budget(
        ChatLimits(
            concurrency=settings.concurrency,
            requests_per_minute=settings.requests_per_minute,
            tokens_per_minute=settings.tokens_per_minute,
            tokens_per_day=settings.tokens_per_day,
            space_tokens_per_day=settings.space_tokens_per_day,
            cost_per_day=settings.cost_per_day,
            prompt_price=settings.prompt_price,
            completion_price=settings.completion_price,
        )
    )
