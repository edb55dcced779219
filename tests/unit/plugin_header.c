/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_header.c: an executor that is written on code_executor_plugin.h keeps the ABI. It obeys a block's
 * first letter: p prints the rest, e the same to stderr, x ends with code 3, f fails, l floods, w waits
 * until it is stopped, s sets the outcome to saved, r to refused, o writes to a stream that there is not, m fails
 * without a word, t says how much time there is.
 */
#include <code_executor_plugin.h>

#include <setjmp.h>
#include <stdint.h>
#include <sys/wait.h>

#include <cmocka.h>

static int closed;
static int interrupted;

static int32_t open_work(const code_executor_host *host, const char *config_json, void **state,
                         code_executor_error *error)
{
    (void)host;
    *state = strdup(config_json);
    return strcmp(config_json, "{\"bad\":1}") == 0
               ? code_executor_set_error(error, CODE_EXECUTOR_INVALID, "unknown key \"bad\"")
               : CODE_EXECUTOR_OK;
}

static void close_work(void *state)
{
    free(state);
    closed++;
}

static void interrupt_work(void *state, uint64_t execution_id)
{
    (void)state;
    (void)execution_id;
    __atomic_add_fetch(&interrupted, 1, __ATOMIC_SEQ_CST);
}

static void flood(code_executor_run *run)
{
    static char piece[1 << 20];
    for (int i = 0; i < 32; i++) {
        memset(piece, 'a' + i % 26, sizeof piece);
        code_executor_write(run, CODE_EXECUTOR_STREAM_STDOUT, piece, sizeof piece);
    }
}

static int32_t run_letter(void *state, code_executor_run *run, code_executor_error *error)
{
    (void)state;
    const char *rest = run->code + 1;
    size_t length = run->code_length - 1;
    switch (run->code[0]) {
    case 'p':
        code_executor_write(run, CODE_EXECUTOR_STREAM_STDOUT, rest, length);
        break;
    case 'e':
        code_executor_write(run, CODE_EXECUTOR_STREAM_STDERR, rest, length);
        break;
    case 'x':
        run->exit_code = 3;
        break;
    case 's':
        run->outcome = CODE_EXECUTOR_OUTCOME_SAVED;
        break;
    case 'r':
        run->outcome = CODE_EXECUTOR_OUTCOME_REFUSED;
        break;
    case 'o':
        code_executor_write(run, 7, "x", 1);
        code_executor_write(run, -1, "y", 1);
        break;
    case 'm':
        return CODE_EXECUTOR_LOST;
    case 't':
        code_executor_print(run, CODE_EXECUTOR_STREAM_STDOUT, "%.0f", code_executor_remaining(run));
        break;
    case 'l':
        flood(run);
        break;
    case 'w':
        while (!code_executor_stopped(run))
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        break;
    default:
        return code_executor_set_error(error, CODE_EXECUTOR_UNAVAILABLE, "no such letter");
    }
    return CODE_EXECUTOR_OK;
}

static const code_executor_work work = {
    .run = run_letter,
    .isolation = "within \"the test\"",
    .open = open_work,
    .close = close_work,
    .interrupt = interrupt_work,
};
CODE_EXECUTOR_PLUGIN(work, "letters", "1", "For the test", "{\"type\": \"object\"}")

/* ---- what a test does with it ------------------------------------------------------------------- */

struct fixture {
    const code_executor_v1 *table;
    code_executor_instance *instance;
    code_executor_error error;
    code_executor_block blocks[4];
    const code_executor_block *pointers[4];
    code_executor_request request;
    code_executor_result *result;
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    assert_non_null(fixture);
    closed = interrupted = 0;
    fixture->table = code_executor_plugin_v1();
    fixture->error.struct_size = sizeof fixture->error;
    fixture->request.struct_size = sizeof fixture->request;
    fixture->request.blocks = fixture->pointers;
    fixture->request.execution_id = 1;
    *state = fixture;
    return fixture->table->create(NULL, "{}", &fixture->instance, &fixture->error);
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    fixture->table->result_free(fixture->result);
    fixture->table->destroy(fixture->instance);
    free(fixture);
    return 0;
}

static void add_block(struct fixture *fixture, const char *code)
{
    size_t at = fixture->request.block_count++;
    fixture->blocks[at] =
        (code_executor_block){sizeof(code_executor_block), "letters", code, strlen(code)};
    fixture->pointers[at] = &fixture->blocks[at];
}

static int32_t execute(struct fixture *fixture)
{
    return fixture->table->execute(fixture->instance, &fixture->request, &fixture->result,
                                   &fixture->error);
}

static void blocks_run_in_order_and_their_outputs_are_joined(void **state)
{
    struct fixture *fixture = *state;
    add_block(fixture, "pone\n");
    add_block(fixture, "etwo\n");
    assert_int_equal(execute(fixture), CODE_EXECUTOR_OK);
    assert_string_equal(fixture->result->output, "one\ntwo\n");
    assert_int_equal(fixture->result->output_length, 8);
    assert_string_equal(fixture->result->blocks[0]->stdout_bytes, "one\n");
    assert_string_equal(fixture->result->blocks[0]->stderr_bytes, "");
    assert_string_equal(fixture->result->blocks[1]->stderr_bytes, "two\n");
    assert_string_equal(fixture->result->blocks[1]->language, "letters");
    assert_int_equal(fixture->result->outcome, CODE_EXECUTOR_OUTCOME_COMPLETED);
}

static void a_failing_block_is_the_last(void **state)
{
    struct fixture *fixture = *state;
    add_block(fixture, "x");
    add_block(fixture, "pnever");
    assert_int_equal(execute(fixture), CODE_EXECUTOR_OK);
    assert_int_equal(fixture->result->block_count, 1);
    assert_int_equal(fixture->result->exit_code, 3);
}

static void a_failure_of_the_executor_keeps_what_ran(void **state)
{
    struct fixture *fixture = *state;
    add_block(fixture, "pone\n");
    add_block(fixture, "?");
    assert_int_equal(execute(fixture), CODE_EXECUTOR_UNAVAILABLE);
    assert_string_equal(fixture->error.message, "no such letter");
    assert_int_equal(fixture->result->block_count, 2);
    assert_int_equal(fixture->result->outcome, CODE_EXECUTOR_OUTCOME_FAILED);
    assert_string_equal(fixture->result->output, "one\n");
}

static void a_block_may_be_saved_only(void **state)
{
    struct fixture *fixture = *state;
    add_block(fixture, "s");
    assert_int_equal(execute(fixture), CODE_EXECUTOR_OK);
    assert_int_equal(fixture->result->outcome, CODE_EXECUTOR_OUTCOME_SAVED);
}

static void output_is_bounded_to_its_first_and_last_half(void **state)
{
    struct fixture *fixture = *state;
    add_block(fixture, "l");
    assert_int_equal(execute(fixture), CODE_EXECUTOR_OK);
    const code_executor_block_result *block = fixture->result->blocks[0];
    assert_int_equal(block->dropped_bytes, 22u << 20);
    assert_true(block->output_length < CODE_EXECUTOR_KEPT_BYTES + 80);
    assert_int_equal(block->output[0], 'a');
    assert_int_equal(block->output[block->output_length - 1], 'a' + 31 % 26);
    assert_non_null(strstr(block->output, "\n[... 23068672 bytes dropped ...]\nb"));
    assert_int_equal(block->output[block->output_length - (1 << 20) - 1], 'a' + 30 % 26);
}

static void time_that_is_up_ends_a_block(void **state)
{
    struct fixture *fixture = *state;
    add_block(fixture, "w");
    fixture->request.timeout = 1;
    assert_int_equal(execute(fixture), CODE_EXECUTOR_OK);
    assert_int_equal(fixture->result->outcome, CODE_EXECUTOR_OUTCOME_TIMED_OUT);
    assert_int_equal(fixture->result->exit_code, 124);
    assert_string_equal(fixture->result->output, "\nTimeout");
}

/* ---- cancelling --------------------------------------------------------------------------------- */

static void *execute_in_thread(void *argument)
{
    return execute(argument) == CODE_EXECUTOR_OK ? argument : NULL;
}

/* Has a block wait in a thread, and calls END once it runs. */
static void end_a_waiting_block(struct fixture *fixture, void (*end)(struct fixture *fixture))
{
    pthread_t thread;
    void *returned = NULL;
    add_block(fixture, "w");
    assert_int_equal(pthread_create(&thread, NULL, execute_in_thread, fixture), 0);
    while (fixture->table->cancel(fixture->instance, 99, NULL) == CODE_EXECUTOR_NOT_FOUND) {
        end(fixture);
        if (__atomic_load_n(&interrupted, __ATOMIC_SEQ_CST) > 0)
            break;
    }
    pthread_join(thread, &returned);
    assert_ptr_equal(returned, fixture);
    assert_int_equal(fixture->result->outcome, CODE_EXECUTOR_OUTCOME_CANCELLED);
    assert_int_equal(fixture->result->exit_code, 130);
}

static void cancel_by_id(struct fixture *fixture)
{
    fixture->table->cancel(fixture->instance, 1, NULL);
}

static void cancel_all(struct fixture *fixture)
{
    fixture->table->cancel(fixture->instance, 0, NULL);
}

static void stop(struct fixture *fixture)
{
    fixture->table->stop(fixture->instance, NULL);
}

static void cancel_ends_the_execution_it_names(void **state)
{
    end_a_waiting_block(*state, cancel_by_id);
}

static void cancel_of_0_ends_all(void **state)
{
    end_a_waiting_block(*state, cancel_all);
}

static void stop_ends_what_runs(void **state)
{
    end_a_waiting_block(*state, stop);
}

static int32_t refuse(void *user_data, size_t block)
{
    (void)block;
    *(int *)user_data += 1;
    return 1;
}

static void on_begin_may_cancel(void **state)
{
    struct fixture *fixture = *state;
    int called = 0;
    add_block(fixture, "pone");
    add_block(fixture, "ptwo");
    fixture->request.on_begin = refuse;
    fixture->request.user_data = &called;
    assert_int_equal(execute(fixture), CODE_EXECUTOR_OK);
    assert_int_equal(called, 1);
    assert_int_equal(fixture->result->outcome, CODE_EXECUTOR_OUTCOME_CANCELLED);
    assert_string_equal(fixture->result->output, "");
}

static int32_t enough(void *user_data, size_t block, int32_t stream, const char *bytes,
                      size_t length)
{
    (void)block;
    (void)stream;
    (void)bytes;
    *(size_t *)user_data += length;
    return 1;
}

static void on_output_may_cancel(void **state)
{
    struct fixture *fixture = *state;
    size_t seen = 0;
    add_block(fixture, "pone");
    add_block(fixture, "ptwo");
    fixture->request.on_output = enough;
    fixture->request.user_data = &seen;
    assert_int_equal(execute(fixture), CODE_EXECUTOR_OK);
    assert_int_equal(seen, 3);
    assert_int_equal(fixture->result->outcome, CODE_EXECUTOR_OUTCOME_CANCELLED);
}

static void a_run_is_told_how_much_time_there_is(void **state)
{
    struct fixture *fixture = *state;
    add_block(fixture, "t");
    fixture->request.timeout = 1000;
    assert_int_equal(execute(fixture), CODE_EXECUTOR_OK);
    assert_string_equal(fixture->result->output, "1000");
}

/* ---- what is wrong ------------------------------------------------------------------------------ */

static void requests_that_are_wrong_are_refused(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(execute(fixture), CODE_EXECUTOR_INVALID);
    assert_string_equal(fixture->error.message, "No code blocks to execute.");
    add_block(fixture, "p");
    fixture->request.timeout = 0.5;
    assert_int_equal(execute(fixture), CODE_EXECUTOR_INVALID);
    assert_string_equal(fixture->error.message, "Timeout must be greater than or equal to 1.");
    fixture->request.timeout = 0;
    fixture->request.execution_id = 0;
    assert_int_equal(execute(fixture), CODE_EXECUTOR_INVALID);
    fixture->request.execution_id = 1;
    fixture->blocks[0].language = NULL;
    assert_int_equal(execute(fixture), CODE_EXECUTOR_INVALID);
    assert_string_equal(fixture->error.message, "block 0 has no language");
    assert_null(fixture->result);
}

static void a_newer_request_is_refused_only_where_it_asks_for_more(void **state)
{
    struct fixture *fixture = *state;
    struct {
        code_executor_request request;
        uint64_t more;
    } newer;
    add_block(fixture, "p");
    newer.request = fixture->request;
    newer.request.struct_size = sizeof newer;
    newer.more = 0;
    assert_int_equal(fixture->table->execute(fixture->instance, &newer.request, &fixture->result,
                                             &fixture->error),
                     CODE_EXECUTOR_OK);
    fixture->table->result_free(fixture->result);
    newer.more = 1;
    assert_int_equal(fixture->table->execute(fixture->instance, &newer.request, &fixture->result,
                                             &fixture->error),
                     CODE_EXECUTOR_UNSUPPORTED);
    assert_non_null(strstr(fixture->error.message, "code_executor_request"));
}

static void an_id_in_flight_is_refused(void **state)
{
    struct fixture *fixture = *state;
    code_executor_flight flight = {NULL, 1, false};
    add_block(fixture, "p");
    assert_true(code_executor_enter(fixture->instance, &flight));
    assert_int_equal(execute(fixture), CODE_EXECUTOR_INVALID);
    code_executor_leave(fixture->instance, &flight);
    assert_int_equal(execute(fixture), CODE_EXECUTOR_OK);
}

static void a_configuration_that_open_refuses_makes_no_instance(void **state)
{
    struct fixture *fixture = *state;
    code_executor_instance *instance = NULL;
    assert_int_equal(fixture->table->create(NULL, "{\"bad\":1}", &instance, &fixture->error),
                     CODE_EXECUTOR_INVALID);
    assert_string_equal(fixture->error.message, "unknown key \"bad\"");
    assert_null(instance);
    assert_int_equal(closed, 1);
}

static void a_configuration_that_is_no_object_is_refused(void **state)
{
    struct fixture *fixture = *state;
    static const char *const wrong[] = {"[]", "{bad", "x", " ", "7"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        code_executor_instance *instance = NULL;
        assert_int_equal(fixture->table->create(NULL, wrong[i], &instance, &fixture->error),
                         CODE_EXECUTOR_INVALID);
        assert_null(instance);
    }
}

static void a_failure_without_words_gets_some(void **state)
{
    struct fixture *fixture = *state;
    add_block(fixture, "m");
    assert_int_equal(execute(fixture), CODE_EXECUTOR_LOST);
    assert_int_equal(fixture->error.status, CODE_EXECUTOR_LOST);
    assert_string_equal(fixture->error.message, "letters failed and did not say why");
}

static void what_is_refused_does_not_exit_with_0(void **state)
{
    struct fixture *fixture = *state;
    add_block(fixture, "r");
    assert_int_equal(execute(fixture), CODE_EXECUTOR_OK);
    assert_int_equal(fixture->result->exit_code, 1);
}

static void a_stream_that_there_is_not_counts_as_stdout(void **state)
{
    struct fixture *fixture = *state;
    add_block(fixture, "o");
    assert_int_equal(execute(fixture), CODE_EXECUTOR_OK);
    assert_string_equal(fixture->result->blocks[0]->stdout_bytes, "xy");
}

static void an_error_is_written_only_as_far_as_it_reaches(void **state)
{
    (void)state;
    code_executor_error error;
    memset(&error, '#', sizeof error);
    error.struct_size = offsetof(code_executor_error, message) + 6;
    code_executor_set_error(&error, CODE_EXECUTOR_IO, "abcd\xc3\xa4");
    assert_string_equal(error.message, "abcd"); /* the fifth character does not fit whole */
    assert_int_equal(error.message[6], '#');
    error.struct_size = 8;
    error.status = 77;
    code_executor_set_error(&error, CODE_EXECUTOR_IO, "x");
    assert_int_equal(error.status, 77);
}

static void a_forked_child_is_told_that_the_instance_is_not_its_own(void **state)
{
    struct fixture *fixture = *state;
    add_block(fixture, "p");
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        fixture->table->destroy(fixture->instance);
        _exit(closed * 100 + execute(fixture));
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), CODE_EXECUTOR_UNSUPPORTED);
}

static void describe_tells_the_state(void **state)
{
    struct fixture *fixture = *state;
    char *json = NULL;
    assert_int_equal(fixture->table->start(fixture->instance, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(fixture->table->describe(fixture->instance, &json, NULL), CODE_EXECUTOR_OK);
    assert_non_null(
        strstr(json, "\"name\": \"letters\", \"state\": \"started\", \"timeout\": 60,"));
    assert_non_null(strstr(json, "\"within \\u0022the test\\u0022\"}"));
    fixture->table->string_free(json);
    assert_null(fixture->table->get_extension(fixture->instance, "x/1"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(blocks_run_in_order_and_their_outputs_are_joined),
        TEST(a_failing_block_is_the_last),
        TEST(a_failure_of_the_executor_keeps_what_ran),
        TEST(a_block_may_be_saved_only),
        TEST(output_is_bounded_to_its_first_and_last_half),
        TEST(time_that_is_up_ends_a_block),
        TEST(cancel_ends_the_execution_it_names),
        TEST(cancel_of_0_ends_all),
        TEST(stop_ends_what_runs),
        TEST(on_begin_may_cancel),
        TEST(on_output_may_cancel),
        TEST(a_run_is_told_how_much_time_there_is),
        TEST(a_configuration_that_is_no_object_is_refused),
        TEST(a_failure_without_words_gets_some),
        TEST(what_is_refused_does_not_exit_with_0),
        TEST(a_stream_that_there_is_not_counts_as_stdout),
        TEST(an_error_is_written_only_as_far_as_it_reaches),
        TEST(requests_that_are_wrong_are_refused),
        TEST(a_newer_request_is_refused_only_where_it_asks_for_more),
        TEST(an_id_in_flight_is_refused),
        TEST(a_configuration_that_open_refuses_makes_no_instance),
        TEST(a_forked_child_is_told_that_the_instance_is_not_its_own),
        TEST(describe_tells_the_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
