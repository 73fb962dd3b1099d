# SPDX-License-Identifier: Apache-2.0
"""The parts that views are made of, used in the page itself: elements, lists, dialogs, menus, JSON, addresses."""
from case import ConsoleTest

HOSTILE = ["<script>window.pwned = 1</script>", "<img src=x onerror=\"window.pwned = 2\">", "\u202etxt.exe\u202c", "\u0000", "'\"><svg onload=pwned=3>",
           "javascript:window.pwned=4", "x" * 20000, "__proto__", "constructor", "{{7*7}}"]
LIST = """
  const { VirtualList } = await load('components/virtual-list.js');
  const { h, fill } = await load('core/dom.js');
  window.log = [];
  const list = window.list = new VirtualList({
    label: 'Rows', draw: (index, line) => line.append(h('span', null, 'row ' + index)),
    activate: (index) => log.push('activate ' + index), onSelect: (selected) => log.push('selected ' + [...selected].sort((a, b) => a - b).join(',')),
  });
  fill(document.getElementById('page'), h('div', { style: { 'block-size': '400px' } }, list.element));
  list.setCount(args[0]);
  list.element.focus();
"""


class Components(ConsoleTest):
    def setUp(self):
        super().setUp()
        self.browser.open("#/nothing/here")

    # Elements

    def test_texts_and_attributes_of_data_are_never_html(self):
        found = self.browser.module("""
          const { h, fill } = await load('core/dom.js');
          const element = h('div', null, args[0].map((text) => h('p', { title: text, 'aria-label': text, 'data-x': text, dataset: { y: text } }, text)));
          fill(document.getElementById('page'), element);
          return { texts: [...element.children].map((one) => one.textContent), titles: [...element.children].map((one) => one.title),
            inside: element.querySelectorAll('p > *').length };
        """, HOSTILE)
        self.assertEqual(found["texts"], HOSTILE)
        self.assertEqual(found["titles"], HOSTILE)
        self.assertEqual(found["inside"], 0)

    def test_a_handler_is_a_function_and_never_a_text(self):
        found = self.browser.module("""
          const { h } = await load('core/dom.js');
          const element = h('button', { onclick: () => { element.dataset.done = 1; } }, 'x');
          element.click();
          const other = h('img', { src: 'data:,', onerror: 'window.pwned = 5' });
          document.getElementById('page').append(other);
          await new Promise((resume) => setTimeout(resume, 50));
          return [element.dataset.done, element.getAttribute('onclick')];
        """)
        self.assertEqual(found, ["1", None])
        self.browser.expect_errors("policy refused script-src-attr", "inline event handler")

    def test_children_that_are_nothing_are_left_out_and_zero_is_shown(self):
        text = self.browser.module("const { h } = await load('core/dom.js'); return h('p', null, null, undefined, false, 0, '', ['a', ['b']]).textContent;")
        self.assertEqual(text, "0ab")

    # Addresses

    def test_the_words_of_an_address_come_back_as_they_were(self):
        words = [*[one for one in HOSTILE if one != HOSTILE[6]], "a/b", "a?b#c", "%2F", "שלום", " ", "."]
        found = self.browser.module("""
          const { link, parse, match } = await load('core/router.js');
          const { routes } = await load('routes.js');
          return args[0].map((word) => {
            const hash = link('db', word, 'doc', word, { q: word });
            const found = match(routes, hash);
            return [found?.place.params.db, found?.place.params.id, found?.place.query.get('q'), parse(hash).words[1]];
          });
        """, words)
        self.assertEqual(found, [[word] * 4 for word in words])

    def test_the_path_of_a_document_encodes_all_but_the_slash_of_a_design_document(self):
        found = self.browser.module("""
          const { documentPath, address } = await load('api/client.js');
          return [documentPath('a/b', 'c/d'), documentPath('a', '_design/x/y'), documentPath('a', '_local/x'), documentPath('a', '../b', 'x y'),
            address('/a', { key: 'x', keys: ['a'], limit: 2 }).search];
        """)
        self.assertEqual(found[:4], ["/a%2Fb/c%2Fd", "/a/_design/x%2Fy", "/a/_local/x", "/a/..%2Fb/x%20y"])
        self.assertEqual(found[4], "?key=x&keys=%5B%22a%22%5D&limit=2")

    # JSON

    def test_a_json_value_is_shown_as_it_is(self):
        value = {"text": HOSTILE[0], HOSTILE[1]: 1, "list": [True, None, 1.5, {"deep": {"deeper": "x"}}], "empty": {}, "none": []}
        found = self.browser.module("""
          const { jsonView } = await load('components/json-view.js');
          const element = jsonView(args[0], { open: 9 });
          document.getElementById('page').replaceChildren(element);
          return { text: element.textContent, tags: [...new Set([...element.querySelectorAll('*')].map((one) => one.localName))].sort() };
        """, value)
        for part in (HOSTILE[0].replace('"', '\\"'), '\\"window.pwned = 2\\"', "true", "null", "1.5", "deeper", "{}", "[]"):
            self.assertIn(part, found["text"])
        self.assertEqual(found["tags"], ["details", "div", "span", "summary"])

    def test_a_property_that_is_called_proto_is_shown_and_changes_nothing(self):
        found = self.browser.module("""
          const { jsonView } = await load('components/json-view.js');
          const element = jsonView(JSON.parse('{"__proto__": {"polluted": 1}, "constructor": {"x": 2}}'), { open: 9 });
          return [element.textContent, ({}).polluted ?? null];
        """)
        self.assertIn('"__proto__"', found[0])
        self.assertIn("polluted", found[0])
        self.assertIsNone(found[1])

    def test_a_thousand_items_are_shown_by_the_hundred(self):
        b = self.browser
        b.module("""
          const { jsonView } = await load('components/json-view.js');
          document.getElementById('page').replaceChildren(jsonView(Array.from({ length: 1000 }, (_, at) => at)));
        """)
        self.assertEqual(b.js("return document.querySelectorAll('.json .item').length"), 100)
        b.click("button", "900 more")
        self.assertEqual(b.js("return document.querySelectorAll('.json .item').length"), 1000)

    def test_many_short_properties_or_items_are_folded_together_and_stay_checked(self):
        b = self.browser
        b.open("#/")
        answer = b.module("""
          const { Folds } = await load('components/json-editor-folds.js'), { check } = await load('components/json-text.js');
          return [Object.fromEntries(Array.from({ length: 20000 }, (_, i) => ['key' + i, i])), Array.from({ length: 60000 }, (_, i) => i)].map((value) => {
            const folds = new Folds(), text = JSON.stringify(value, null, 2), folded = folds.open(text);
            const faultOf = (text) => check(text, undefined, (mark) => folds.all.get(mark).names).fault?.message ?? '';
            const mark = folded.match(/[\\u{100000}-\\u{10fffd}]/u)[0];
            return [folded.length < 1000, folds.expand(folded) === text, faultOf(folded),
              faultOf(folded.replace(mark, mark + ',"key5": 1')), faultOf(`{"a": ${mark}}`) !== ''];
          });""")
        self.assertEqual(answer[0], [True, True, "", 'This object has the property "key5" twice.', True])
        self.assertEqual(answer[1][:3] + answer[1][4:], [True, True, "", True])

    def test_a_value_that_no_character_is_left_for_is_not_folded(self):
        found = self.browser.module("""
          const { Folds } = await load('components/json-editor-folds.js');
          const folds = new Folds();
          const first = folds.add('[0]');
          for (let number = 1; number < 0xfffe; number += 1) folds.add('[1]');
          return [folds.add('[2]'), folds.expand(first)];
        """)
        self.assertEqual(found, ["[2]", "[0]"])

    # The list

    def current(self):
        return self.browser.js("return list.current")

    def test_of_a_million_rows_only_those_in_sight_are_in_the_page(self):
        b = self.browser
        b.module(LIST, 1_000_000)
        self.assertLess(b.js("return list.element.querySelectorAll('.line').length"), 60)
        self.assertEqual(b.js("return list.element.getAttribute('aria-rowcount')"), "1000000")

    def test_the_end_and_the_middle_of_a_million_rows_are_reached(self):
        b = self.browser
        b.module(LIST, 1_000_000)
        b.press("End")
        b.reads("row 999999")
        self.assertTrue(self.in_sight(999_999))
        b.press("ArrowUp")
        self.assertEqual(self.current(), 999_998)
        b.press("PageUp", "Home")
        b.until(lambda: self.in_sight(0), "the first row is in sight")
        b.js("list.element.scrollTop = list.element.scrollHeight / 2")
        b.until(lambda: 400_000 < b.js("return Number(list.element.querySelector('.line').dataset.index)") < 600_000, "the middle is in sight")

    def in_sight(self, index):
        return self.browser.js("""
          const line = list.element.querySelector(`.line[data-index="${arguments[0]}"]`);
          if (!line) return false;
          const own = line.getBoundingClientRect(), box = list.element.getBoundingClientRect();
          return own.top >= box.top - 1 && own.bottom <= box.bottom + 1;
        """, index)

    def test_a_jump_in_a_million_rows_is_drawn_at_once(self):
        b = self.browser
        b.module(LIST, 1_000_000)
        spent = b.module("""
          const times = [];
          for (let turn = 0; turn < 40; turn += 1) {
            const began = performance.now();
            list.element.scrollTop = (turn * 7919 * 1000) % (list.element.scrollHeight - 500);
            list.element.dispatchEvent(new Event('scroll'));
            list.element.getBoundingClientRect();
            times.push(performance.now() - began);
            await new Promise((resume) => requestAnimationFrame(resume));
          }
          return times.sort((a, b) => a - b)[20];
        """)
        # Four milliseconds on a machine that does nothing else.
        self.assertLess(spent, 60, "the median of forty jumps in milliseconds")

    def test_arrows_move_the_current_row_and_enter_activates_it(self):
        b = self.browser
        b.module(LIST, 500)
        b.press("ArrowDown", "ArrowDown", "ArrowUp", "Enter")
        self.assertEqual(b.js("return log"), ["activate 1"])

    def test_each_row_that_the_keys_pass_is_in_sight(self):
        b = self.browser
        b.module(LIST, 500)
        for _ in range(15):
            b.press("ArrowDown")
            self.assertTrue(self.in_sight(self.current()))

    def test_space_shift_and_control_a_select(self):
        b = self.browser
        b.module(LIST, 5)
        b.press("Space", "Shift+ArrowDown", "Shift+ArrowDown", "Escape", "Control+a")
        self.assertEqual(b.js("return log"), ["selected 0", "selected 0,1", "selected 0,1,2", "selected ", "selected 0,1,2,3,4"])

    def test_a_row_is_selected_by_control_and_a_click_and_up_to_there_by_shift(self):
        b = self.browser
        b.module(LIST, 20)
        lines = b.js("return [2, 5, 4].map((at) => list.lines.get(at))")
        b.actions().key_down("\ue009").click(lines[0]).key_up("\ue009").perform()
        b.actions().key_down("\ue008").click(lines[1]).key_up("\ue008").perform()
        b.actions().key_down("\ue009").click(lines[2]).key_up("\ue009").perform()
        self.assertEqual(b.js("return log"), ["selected 2", "selected 2,3,4,5", "selected 2,3,5"])

    def test_a_list_that_shrinks_forgets_rows_that_have_gone(self):
        b = self.browser
        b.module(LIST, 20)
        b.press("Control+a", "End")
        self.assertEqual(b.js("list.setCount(3); return [list.current, list.selected.size, list.element.querySelectorAll('.line').length]"), [2, 3, 3])
        self.assertEqual(b.js("list.setCount(0); return [list.current, list.selected.size, list.element.querySelectorAll('.line').length]"), [0, 0, 0])

    # Dialogs

    def dialog(self, options):
        self.browser.module("""
          const { openDialog, ask } = await load('components/dialog.js');
          const { field, input } = await load('components/field.js');
          const { h, fill } = await load('core/dom.js');
          const opener = h('button', { type: 'button' }, 'Opener');
          fill(document.getElementById('page'), opener);
          opener.focus();
          window.answer = 'open';
          const name = input();
          """ + options)

    def answer(self):
        return self.browser.until(lambda: self.browser.js("return window.answer === 'open' ? null : String(window.answer)"), "the dialog has an answer")

    PLAIN = """openDialog({ title: 'Title', action: 'Save', body: field({ label: 'Name', input: name }), submit: () => {
        if (name.value === 'bad') throw new Error('This name is taken.');
        return name.value; } }).then((value) => { window.answer = value; });"""

    def test_a_dialog_takes_the_focus_and_gives_it_back(self):
        b = self.browser
        self.dialog(self.PLAIN)
        b.is_focused("Name")
        b.press("Escape")
        self.assertEqual(self.answer(), "undefined")
        b.is_focused("Opener")

    def test_enter_confirms_a_dialog(self):
        b = self.browser
        self.dialog(self.PLAIN)
        b.write("good")
        b.press("Enter")
        self.assertEqual(self.answer(), "good")
        self.assertFalse(b.has("dialog"))

    def test_an_error_stays_in_the_dialog_until_it_is_mended(self):
        b = self.browser
        self.dialog(self.PLAIN)
        b.write("bad")
        b.press("Enter")
        b.find("alert", None)
        b.reads("This name is taken.")
        self.assertTrue(b.has("dialog", "Title"))
        b.type("Name", "good")
        b.click("button", "Save")
        self.assertEqual(self.answer(), "good")

    def test_the_focus_stays_within_a_dialog(self):
        b = self.browser
        self.dialog(self.PLAIN)
        for _ in range(8):
            b.press("Tab")
            self.assertNotEqual(b.focused()["name"], "Opener")

    def test_what_is_deleted_for_good_is_typed_first(self):
        b = self.browser
        self.dialog("ask({ title: 'Delete?', message: 'All of it.', action: 'Delete', typed: 'notes', danger: true }).then((value) => { window.answer = value; });")
        b.write("note")
        b.press("Enter")
        b.reads("This is not the name.")
        b.write("s")
        b.press("Enter")
        self.assertEqual(self.answer(), "true")

    def test_a_dialog_stays_until_its_work_ends_and_then_gives_the_answer(self):
        b = self.browser
        self.dialog("""window.end = null;
          ask({ title: 'Delete?', message: 'All of it.', action: 'Delete', perform: () => new Promise((done) => { window.end = done; }) })
            .then((value) => { window.answer = value; });""")
        b.click("button", "Delete")
        b.until(lambda: b.js("return Boolean(window.end)"), "the work runs")
        b.press("Escape", "Escape", "Escape")
        b.find("dialog", "Delete?")
        self.assertTrue(b.js("return [...document.querySelectorAll('dialog button')].every((one) => one.disabled)"))
        self.assertEqual(b.js("return window.answer"), "open")
        b.js("window.end()")
        self.assertEqual(self.answer(), "true")
        self.assertFalse(b.has("dialog"))

    # Work

    WORK = """let tries = 0;
      const { signal } = new AbortController();
      const work = async (stop, line) => {
        if (!tries++) throw new Error('The server is busy.');
        line.count(3, 10);
        await new Promise((done) => stop.addEventListener('abort', done));
        return 'three';
      };
      const { workDialog, workRegion } = await load('components/progress.js');"""

    def test_work_in_a_dialog_shows_its_error_then_how_far_it_is_and_gives_what_was_done_before_cancel(self):
        b = self.browser
        self.dialog(self.WORK + "workDialog({ title: 'Work', signal, work }).then((value) => { window.answer = value; });")
        b.reads("The server is busy.")
        b.click("button", "Try again")
        b.reads("3 of 10")
        b.click("button", "Cancel")
        self.assertEqual(self.answer(), "three")
        self.assertFalse(b.has("dialog"))

    def test_work_in_the_page_shows_its_error_then_how_far_it_is_and_what_was_done_before_cancel(self):
        b = self.browser
        self.dialog(self.WORK + "document.getElementById('page').append(workRegion(signal, work));")
        b.reads("The server is busy.")
        b.click("button", "Try again")
        b.reads("3 of 10")
        b.click("button", "Cancel")
        b.reads("three")

    # Menus

    def menu(self):
        self.browser.module("""
          const { menuButton } = await load('components/menu.js');
          const { fill } = await load('core/dom.js');
          window.log = [];
          fill(document.getElementById('page'), menuButton({ label: 'More', items: () => ['One', 'Two', 'Three'].map((label) => ({ label, call: () => log.push(label) })) }));
          document.querySelector('#page button').focus();
        """)

    def test_a_menu_is_used_by_the_keyboard_alone(self):
        b = self.browser
        self.menu()
        b.press("Enter")
        b.is_focused("One")
        b.press("ArrowDown", "ArrowDown", "ArrowDown", "End", "ArrowUp")
        b.is_focused("Two")
        b.press("Enter")
        b.gone("menu")
        self.assertEqual(b.js("return log"), ["Two"])
        b.is_focused("More")

    def test_escape_and_a_click_elsewhere_close_a_menu(self):
        b = self.browser
        self.menu()
        b.click("button", "More")
        self.assertEqual(b.find("button", "More").get_attribute("aria-expanded"), "true")
        b.press("Escape")
        b.gone("menu")
        self.assertEqual(b.find("button", "More").get_attribute("aria-expanded"), "false")
        b.click("button", "More")
        b.actions().move_by_offset(5, 400).click().perform()
        b.gone("menu")

    def test_a_second_click_on_its_button_closes_a_menu(self):
        b = self.browser
        self.menu()
        b.click("button", "More")
        b.find("menu")
        b.find("button", "More").click()
        b.gone("menu", seconds=3)

    def test_few_values_of_a_small_line_take_the_width_of_their_time(self):
        found = self.browser.module("""
          const { sparkline } = await load('components/chart.js');
          return [[1, 2, 3], Array(10).fill(1)].map((values) => {
            const line = sparkline({ label: 'Rate', values, room: 10, width: 100 }).querySelector('.line').getAttribute('d');
            return [...line.matchAll(/[ML]([\\d.]+) /g)].map((one) => Math.round(one[1]));
          }).map((all) => [all[0], all.at(-1)]);
        """)
        self.assertEqual(found, [[75, 96], [2, 96]])

    # Messages and keys

    def test_a_message_is_announced_and_can_be_dismissed(self):
        b = self.browser
        b.module("const { toast } = await load('components/toast.js'); toast('Saved <b>it</b>.');")
        b.reads("Saved <b>it</b>.")
        self.assertEqual(b.js("return document.querySelector('.toasts').getAttribute('aria-live')"), "polite")
        b.click("button", "Dismiss")
        b.reads_no("Saved <b>it</b>.")

    def test_a_message_lies_above_a_dialog_and_stays_when_that_closes(self):
        b = self.browser
        b.module("const { toast } = await load('components/toast.js'); toast('Before.', { kind: 'danger' });")
        self.dialog(self.PLAIN)
        b.module("const { toast } = await load('components/toast.js');"
                 "toast('During.', { kind: 'danger', action: { label: 'Undo', call: () => { window.isUndone = true; } } });")
        b.reads("During.")
        above = lambda: b.js("""return [...document.querySelectorAll('.toast')].filter((one) => {
          const { left, top } = one.getBoundingClientRect();
          return one.contains(document.elementFromPoint(left + 20, top + 20)); }).map((one) => one.innerText.trim().split('\\n')[0])""")
        b.until(lambda: above() == ["Before.", "During."], "both are seen")
        b.click("button", "Undo")
        b.until(lambda: b.js("return window.isUndone === true"), "its button works")
        b.press("Escape")
        self.assertEqual(self.answer(), "undefined")
        b.until(lambda: above() == ["Before."], "it is seen without the dialog")

    def test_keys_end_with_the_view_that_has_them(self):
        b = self.browser
        b.module("""
          const { keys } = await load('core/keys.js');
          window.log = [];
          const leave = window.leave = new AbortController();
          keys(leave.signal, { 'z': ['Do z', () => log.push('z')], 'mod+k': ['Do k', () => log.push('k')] });
          document.body.focus();
        """)
        b.press("z", "Control+k")
        b.js("leave.abort()")
        b.press("z")
        self.assertEqual(b.js("return log"), ["z", "k"])

    def test_what_repeats_ends_with_its_view_and_leaves_no_listener(self):
        found = self.browser.module("""
          const { poll } = await load('core/waiting.js');
          const leave = new AbortController(), { signal } = leave, { addEventListener, removeEventListener } = signal;
          let calls = 0, listeners = 0;
          signal.addEventListener = (...all) => { listeners += 1; addEventListener.apply(signal, all); };
          signal.removeEventListener = (...all) => { listeners -= 1; removeEventListener.apply(signal, all); };
          await poll(signal, 1, () => { calls += 1; if (calls === 5) leave.abort(); });
          return [calls, listeners];
        """)
        self.assertEqual(found, [5, 0])

    def test_an_end_of_a_replication_that_is_no_text_breaks_nothing(self):
        found = self.browser.module("""
          const { endLabel, localName, withoutSecrets } = await load('sync/ends.js');
          const { stateTag } = await load('sync/words.js');
          return [...[{ url: 5 }, { url: { a: 1 } }, 5, true, null].map((end) => [endLabel(end), localName(end), typeof withoutSecrets({ source: end })]),
            stateTag({ state: 'constructor', info: {} })];
        """)
        self.assertEqual(found, [["", None, "object"]] * 5 + [["constructor", ""]])

    def test_no_password_of_a_url_that_was_written_wrongly_is_shown(self):
        found = self.browser.module("""
          const { endLabel, withoutSecrets } = await load('sync/ends.js');
          return ['http://ann:LEAK@h/db', 'http://ann:LEAK/x@h/db', 'http://ann:LEAK?x@h/db', 'http://ann:LEAK#@h/db', 'http:/ann:LEAK@h/db',
            '//ann:LEAK@h/db', 'ann:LEAK@h/db', 'http://h/db?password=LEAK', 'http://h/db?password=x@LEAK']
            .map((source) => endLabel(source) + withoutSecrets({ source }).source);
        """)
        self.assertEqual([text for text in found if "LEAK" in text], [])

    def test_a_region_that_fails_says_so_and_tries_again(self):
        b = self.browser
        b.module("""
          const { loading } = await load('components/states.js');
          const { fill } = await load('core/dom.js');
          let turn = 0;
          fill(document.getElementById('page'), loading({ signal: new AbortController().signal, render: (text) => text,
            load: async () => { turn += 1; if (turn === 1) throw new Error('It broke.'); return 'It is here.'; } }));
        """)
        b.reads("It broke.")
        b.click("button", "Try again")
        b.reads("It is here.")
