"""A person at a browser, for tests of the web service."""

from __future__ import annotations

from typing import Any

from host_people import PASSWORD


class Visitor:
    """A person at a browser; anything that the page complains of is kept."""

    def __init__(self, browser: Any, url: str, **options: Any) -> None:
        self.url, self.messages = url, []
        self.page = browser.new_context(viewport={"width": 1280, "height": 900}, **options).new_page()
        self.page.on("console", lambda message: self.messages.append(message.text))
        self.page.on("pageerror", lambda error: self.messages.append(str(error)))
        self.page.on("dialog", lambda dialog: dialog.accept())

    def open(self, path: str) -> Any:
        self.page.goto(self.url + path)
        return self.page

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()
        self.page.wait_for_load_state()

    def fill(self, **fields: str) -> None:
        for label, value in fields.items():
            self.page.get_by_label(label.replace("_", " "), exact=True).fill(value)

    def sign_in(self, email: str, password: str = PASSWORD) -> None:
        self.open("/accounts/login/")
        self.fill(Email=email, Password=password)
        self.press("Sign In")

    def reads(self, words: str, *, patience_s: int = 60) -> None:
        """Wait for words: a page of something that runs keeps itself fresh."""
        main = self.page.locator("main")
        for _ in range(4 * patience_s):
            if words in main.inner_text():
                return
            self.page.wait_for_timeout(250)
        assert words in main.inner_text(), main.inner_text()
