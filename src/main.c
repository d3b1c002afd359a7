/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the command, hands over. */
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <unistd.h>

#include "run/command.h"

/* The command of a bare `nest`: the diagnosis, or doctor in a build without it. */
static const struct command *default_command(void)
{
	const struct command *command = command_find("diagnose");

	return command ? command : command_find("doctor");
}

/* -h, --help, -V and --version stand for commands; any other option belongs to the default command. */
static const char *command_word(const char *word)
{
	if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0)
		return "help";
	if (strcmp(word, "-V") == 0 || strcmp(word, "--version") == 0)
		return "version";
	return word;
}

/* If one of the three is closed, the next opened file would get its number, and output would go there. */
static void hold_standard_files(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		(void)close(fd);
}

/*
 * A file that is mapped (a trace, the -shm file of a recording) was truncated by somebody else: nothing that was read
 * from it can be trusted, and what was committed to a recording is safe.
 */
static void on_truncated_file(int signal_number _unused_, siginfo_t *info, void *context _unused_)
{
	static const char text[] = "nest: a file in use was truncated by another program: stopping\n";

	if (info->si_code == BUS_ADRERR && write(STDERR_FILENO, text, sizeof(text) - 1) > 0)
		_exit(EXIT_IO);
	/* SA_RESETHAND: the default action follows. */
	(void)raise(SIGBUS);
}

static void watch_truncation(void)
{
	struct sigaction action = {.sa_sigaction = on_truncated_file, .sa_flags = SA_SIGINFO | (int)SA_RESETHAND};

	(void)sigaction(SIGBUS, &action, NULL);
}

int main(int argc, char **argv)
{
	const struct command *command;
	const char *word;
	int words;

	hold_standard_files();
	watch_truncation();
	if (isatty(STDERR_FILENO))
		log_set_level(LOG_LEVEL_INFO);
	setlocale(LC_CTYPE, "");
	signal(SIGPIPE, SIG_IGN); /* a reader that goes away shows as EPIPE where the output is written */
	signal(SIGXFSZ, SIG_IGN); /* and a limit of the file size as EFBIG */
	if (argc < 2 || (argv[1][0] == '-' && command_word(argv[1]) == argv[1])) {
		command = default_command();
		if (!command)
			command = command_find("help");
		return command_run(command, argc - 1, argv + 1);
	}
	word = command_word(argv[1]);
	if (word != argv[1])
		return command_run(command_find(word), argc - 2, argv + 2);
	command = command_find_words(argc - 1, argv + 1, &words);
	if (!command)
		return command_unknown(NULL, argv[1]);
	return command_run(command, argc - 1 - words, argv + 1 + words);
}
