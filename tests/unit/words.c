/* Messages name what the reader gave: arguments of tools, or options of commands. */
#include "base/words.h"

#include "lib/test.h"

static const char *const agent_words[] = {"oldText",       "newText",      "replaceAll",
                                          "expectedHash",  "text_replace", "edit_file",
                                          "preserveIndent"};

static int speak_to_agents(void **state) {
	(void)state;
	stet_speak(STET_READER_AGENT);
	return 0;
}

static void agents_are_spoken_to_at_first(void **state) {
	(void)state;
	assert_string_equal(st_word(ST_WORD_OLD_TEXT), "oldText");
	assert_int_equal(st_reader(), STET_READER_AGENT);
}

static void a_shell_has_words_of_its_own(void **state) {
	(void)state;
	stet_speak(STET_READER_SHELL);
	assert_string_equal(st_word(ST_WORD_OLD_TEXT), "OLD");
	assert_string_equal(st_word(ST_WORD_PASS_HASH), "give --expect");
	/* Edits from a file are the one place where a shell meets an argument's name. */
	for (unsigned word = 0; word < ST_WORD_COUNT; word++) {
		for (size_t i = 0; i < sizeof agent_words / sizeof *agent_words; i++)
			assert_true(word == ST_WORD_SET_REPLACE_ALL || !strstr(st_word(word), agent_words[i]));
	}
}

static void every_word_is_there_for_both(void **state) {
	(void)state;
	for (unsigned reader = 0; reader < 2; reader++) {
		stet_speak(reader);
		for (unsigned word = 0; word < ST_WORD_COUNT; word++)
			assert_true(st_word(word) && *st_word(word));
	}
}

static void an_unknown_reader_is_an_agent(void **state) {
	(void)state;
	stet_speak((enum stet_reader)7);
	assert_int_equal(st_reader(), STET_READER_AGENT);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(agents_are_spoken_to_at_first, speak_to_agents),
		cmocka_unit_test_teardown(a_shell_has_words_of_its_own, speak_to_agents),
		cmocka_unit_test_teardown(every_word_is_there_for_both, speak_to_agents),
		cmocka_unit_test_teardown(an_unknown_reader_is_an_agent, speak_to_agents),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
