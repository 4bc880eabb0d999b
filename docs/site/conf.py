"""Sphinx's settings. Notebooks are shown as they are stored; nothing is executed."""

import sys
from functools import cache
from pathlib import Path

from course_utils import __version__
from course_utils.notebook.address import public_address

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

project = "Why LLM post-training runs break"
version = release = __version__
language = "en"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
exclude_patterns = ["lessons/solved", "lessons/unsolved"]  # downloads
templates_path = [str(HERE / "templates")]
html_static_path = [str(HERE / "static")]
html_css_files = ["course.css"]
html_theme = "sphinx_book_theme"
html_title = project
html_favicon = str(HERE / "static" / "icon.svg")
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system
html_copy_source = html_show_sourcelink = False
html_show_copyright = False
html_permalinks_icon = "#"

html_theme_options = {
    "navbar_persistent": [],  # a second search field above the one in the side bar
    "footer_content_items": ["extra-footer.html"],
    "extra_footer": "Why LLM post-training runs break. Apache-2.0.",
    "primary_sidebar_end": [],  # a place for advertisements
    "show_navbar_depth": 1,
    "max_navbar_depth": 1,
    "home_page_in_toc": True,
    "use_download_button": False,  # the lessons offer their notebooks themselves
    "use_fullscreen_button": False,
    "repository_url": public_address() or "",
    "use_repository_button": bool(public_address()),
}

smartquotes = False  # an error is searched for in the characters it was printed with
nb_execution_mode = "off"
nb_merge_streams = True
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]  # a pasted log begins below the first level

mathjax_path = "mathjax/es5/tex-chtml.js"
mathjax3_config = {"options": {"enableMenu": False}}
autodoc_typehints = "signature"
autodoc_preserve_defaults = True  # a function by its name
autodoc_member_order = "bysource"
default_role = "code"


def setup(app):
    """Pages of no table of contents share the side bar of their folder: for each of them Sphinx
    would copy the headings of every document, which takes two fifths of a build."""
    made = {}

    def one_side_bar(app, page, _template, context, _doctree):
        if "orphan" in app.env.metadata.get(page, ()):
            folder = page.rpartition("/")[0]
            context["toctree"] = made.setdefault(folder, cache(context["toctree"]))

    app.connect("html-page-context", one_side_bar, priority=1)  # before the theme's, which asks
