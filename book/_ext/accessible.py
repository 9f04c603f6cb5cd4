"""Pages as assistive technology wants them: entries of a bibliography as items of its list, and each id once on a page.

sphinx-proof and sphinx-exercise repeat ids: `proof-content` in every proof, a theorem's own label on what is in it.
"""

import re


def mend(app, page, template, context, doctree):
    seen = set()

    def first_only(match):
        again = match[1] in seen
        seen.add(match[1])
        return "" if again else match[0]

    body = context.get("body", "").replace('role="doc-biblioentry"', 'role="listitem"')
    context["body"] = re.sub(r'(?<=[\w"])\s+id="([^"]+)"(?=[^<>]*>)', first_only, body)


def setup(app):
    app.connect("html-page-context", mend)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
