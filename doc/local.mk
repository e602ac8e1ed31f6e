# SPDX-License-Identifier: BSD-3-Clause
# Manual pages, HTML and bash completion, made from the headers, from what the programs of tools/ say, and from doc/handbook; installed by make install.
if DOCS
DOCUMENTS = doc/built/stamp
handbook_pages = README start tasks data policies models cluster memory seeing joblists contexts extending languages starpu faq
handbook_pictures = hetero slowbus equal
doc/built/stamp: scripts/reference $(handbook_pages:%=doc/handbook/%.md) $(handbook_pictures:%=doc/images/schedules-%.svg) $(pkginclude_HEADERS) $(bin_PROGRAMS) $(bin_SCRIPTS) $(STATS_LINKS)
	$(AM_V_GEN)rm -rf $(@D) && $(MKDIR_P) $(@D) && $(PYTHON) $(srcdir)/scripts/reference --out $(@D) --cmark '$(CMARK)' $(REFERENCE_FLAGS) \
	  --tools $(bin_PROGRAMS) $(bin_SCRIPTS) $(STATS_LINKS) && touch $@

# Where bash-completion looks for them by the program's name.
completiondir = $(datadir)/bash-completion/completions
install-data-local: doc/built/stamp
	@$(MKDIR_P) '$(DESTDIR)$(mandir)' '$(DESTDIR)$(htmldir)' '$(DESTDIR)$(completiondir)'
	@(cd doc/built/man && tar -cf - man1 man3 man7) | (cd '$(DESTDIR)$(mandir)' && tar --no-same-owner -xf -)
	@(cd doc/built/html && tar -cf - .) | (cd '$(DESTDIR)$(htmldir)' && tar --no-same-owner -xf -)
	@(cd doc/built/completion && tar -cf - .) | (cd '$(DESTDIR)$(completiondir)' && tar --no-same-owner -xf -)
uninstall-local:
	@cd doc/built/completion && find . ! -type d | (cd '$(DESTDIR)$(completiondir)' 2>/dev/null && xargs rm -f) || :
	@cd doc/built/man && find . -name '*.[137]' | (cd '$(DESTDIR)$(mandir)' 2>/dev/null && xargs rm -f) || :
	@cd doc/built/html && find . ! -type d | (cd '$(DESTDIR)$(htmldir)' 2>/dev/null && xargs rm -f) || :
	@cd doc/built/html && find . -depth -type d | (cd '$(DESTDIR)$(htmldir)' 2>/dev/null && xargs rmdir 2>/dev/null) || :
clean-local:
	rm -rf doc/built
endif
