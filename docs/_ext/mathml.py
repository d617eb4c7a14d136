"""Formulas as MathML, which browsers draw themselves: no script, no font and no network.

docutils translates the LaTeX; this extension only makes its translator known to Sphinx. Formulas are not
numbered.
"""

import html

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.util import logging

logger = logging.getLogger(__name__)


def _translate(node, as_block):
    try:
        return latex2mathml.tex2mathml(node.astext(), as_block=as_block)
    except MathError as error:
        logger.warning("formula %r: %s", node.astext(), error, location=node)
        return f"<code>{html.escape(node.astext())}</code>"


def _inline(self, node):
    self.body.append(_translate(node, as_block=False))
    raise nodes.SkipNode


def _block(self, node):
    self.body.append(self.starttag(node, "div", CLASS="math"))
    self.body.append(_translate(node, as_block=True))
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
