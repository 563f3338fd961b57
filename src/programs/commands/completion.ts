import { Argument, Command } from 'commander';
import { commandGroups } from '../command-line/command-groups.ts';
import { print } from '../command-line/print.ts';

/** A word of the command line, with the words and flags that may follow it. */
interface Completed {
  /** The words from `weir` on, without it: `key create`. Empty: `weir` itself. */
  readonly path: string;
  readonly words: readonly CompletedWord[];
}

interface CompletedWord {
  readonly word: string;
  readonly about: string;
}

const shells = ['bash', 'zsh', 'fish'] as const;

/** Adds `completion`: prints a script for a shell. It has the words of this version, and asks Weir nothing. */
export function completionCommand(program: Command): void {
  program
    .command('completion')
    .description('print a shell completion script for commands and flags')
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .addHelpText(
      'after',
      [
        '',
        'bash:  source <(weir completion bash)      in ~/.bashrc',
        'zsh:   source <(weir completion zsh)       in ~/.zshrc, after compinit',
        'fish:  weir completion fish > ~/.config/fish/completions/weir.fish',
      ].join('\n'),
    )
    .action(async (shell: (typeof shells)[number]) => print(scripts[shell](await completedWords())));
}

const scripts: Readonly<Record<(typeof shells)[number], (all: readonly Completed[]) => string>> = { bash, zsh, fish };

const flag = (name: string, about = ''): CompletedWord => ({ word: `--${name}`, about });

/** All commands with their flags, from the table of commands. */
async function completedWords(): Promise<readonly Completed[]> {
  const root = new Command('weir');
  const programs: Completed[] = [];
  for (const { name, load } of commandGroups) {
    if (load.kind === 'commands') (await load.register())(root);
    else programs.push({ path: name, words: (await load.flags()).map((one) => flag(one)) });
  }
  const words = commandGroups.map(({ name, summary }) => ({ word: name, about: summary }));
  return [{ path: '', words }, ...programs, ...root.commands.flatMap((command) => below(command, ''))];
}

function below(command: Command, before: string): readonly Completed[] {
  const path = `${before} ${command.name()}`.trim();
  const words = [
    ...command.commands.map((one) => ({ word: one.name(), about: one.description() })),
    ...command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices.map((word) => ({ word, about: '' }))),
    ...command.options.flatMap(({ long, description }) =>
      long === undefined ? [] : [{ word: long, about: description }],
    ),
    flag('help', 'show the command’s help'),
  ];
  return [{ path, words }, ...command.commands.flatMap((one) => below(one, path))];
}

/** Finds the longest command in the words before the cursor, and completes what may follow it. */
function bash(all: readonly Completed[]): string {
  const paths = all.flatMap(({ path }) => (path === '' ? [] : [`'${path}'`])).join('|');
  return `# completion of weir: source <(weir completion bash)
_weir() {
  local at='' words='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "\${at:+$at }\${COMP_WORDS[i]}" in
      ${paths}) at="\${at:+$at }\${COMP_WORDS[i]}" ;;
    esac
  done
  case "$at" in
${all.map(({ path, words }) => `    '${path}') words='${words.map(({ word }) => word).join(' ')}' ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _weir weir
`;
}

/** zsh runs completions of bash. */
function zsh(all: readonly Completed[]): string {
  return `autoload -U +X bashcompinit && bashcompinit\n${bash(all)}`;
}

const fishQuoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

function fish(all: readonly Completed[]): string {
  const paths = all.flatMap(({ path }) => (path === '' ? [] : [`'${path}'`])).join(' ');
  const lines = all.flatMap(({ path, words }) =>
    words.map(({ word, about }) => {
      const what = word.startsWith('--') ? `-l ${word.slice(2)}` : `-a ${word}`;
      return `complete -c weir -n "__weir_at '${path}'" ${what} -d ${fishQuoted(about.slice(0, 80))}`;
    }),
  );
  return `# fish completion of weir: weir completion fish > ~/.config/fish/completions/weir.fish
function __weir_at
  set -l at ''
  for word in (commandline -opc)[2..]
    set -l next (string trim "$at $word")
    contains -- "$next" ${paths}; and set at "$next"
  end
  test "$at" = "$argv[1]"
end
${lines.join('\n')}
`;
}
