/** One command of a shell example. */
export interface ShellCommand {
  /** Variables that are set for this command alone. */
  readonly env: Readonly<Record<string, string>>;
  readonly words: readonly string[];
  /** What `<<END` brings. */
  readonly stdin: string | undefined;
}

const assignment = /^([A-Za-z_]\w*)=([^]*)$/;

/**
 * Reads the commands of a shell example: quotes, comments, continued lines, pipes, redirections and here documents, as far as the
 * pages use them. Variables that the example has set are filled in; what `$(…)` would print stays as it stands.
 */
export function shellCommands(text: string): readonly ShellCommand[] {
  const variables = new Map<string, string>();
  const found: ShellCommand[] = [];
  for (const { words, stdin } of lex(text.replaceAll('\\\n', ' '))) {
    const filled = words.map((word) => word.replaceAll(/\$(\w+)/g, (all, name: string) => variables.get(name) ?? all));
    const isExport = filled[0] === 'export';
    const rest = isExport ? filled.slice(1) : filled;
    const first = rest.findIndex((word) => !assignment.test(word));
    const set = (first === -1 ? rest : rest.slice(0, first)).map((word) => assignment.exec(word) ?? []);
    const env = Object.fromEntries(set.map(([, name = '', value = '']) => [name, value]));
    if (first === -1) for (const [name, value] of Object.entries(env)) variables.set(name, value);
    found.push({ env, words: first === -1 ? [] : rest.slice(first), stdin });
  }
  return found;
}

interface Lexed {
  readonly words: readonly string[];
  readonly stdin: string | undefined;
}

function lex(text: string): readonly Lexed[] {
  const commands: Lexed[] = [];
  let words: string[] = [];
  let word: string | undefined;
  let end: string | undefined;
  let isTarget = false;
  let at = 0;

  function endWord(): void {
    if (word === undefined) return;
    if (!isTarget) words.push(word);
    isTarget = false;
    word = undefined;
  }
  function endCommand(stdin?: string): void {
    endWord();
    if (words.length > 0) commands.push({ words, stdin });
    words = [];
  }
  /** Takes the text up to a mark that lies outside of `$(…)`, and moves behind the mark. */
  function upTo(mark: string): string {
    const from = at;
    for (let depth = 0; at < text.length; at += 1) {
      if (text.startsWith('$(', at)) depth += 1;
      else if (text[at] === ')' && depth > 0) depth -= 1;
      else if (text[at] === mark && depth === 0) break;
    }
    if (at >= text.length) throw new Error(`no ${mark} ends what begins with ${text.slice(from, from + 30)}`);
    at += 1;
    return text.slice(from, at - 1);
  }

  while (at < text.length) {
    const character = text[at] ?? '';
    const heredoc = /^<<'?(\w+)'?/.exec(text.slice(at));
    if (heredoc !== null) {
      endWord();
      [, end] = heredoc;
      at += heredoc[0].length;
    } else if (character === '\n' && end !== undefined) {
      const [body = ''] = text.slice(at + 1).split(new RegExp(`^${end}$`, 'm'));
      at += 1 + body.length + end.length;
      end = undefined;
      endCommand(body);
    } else if (/[\n;|&]/.test(character)) {
      endCommand();
      at += 1;
    } else if (/\s/.test(character)) {
      endWord();
      at += 1;
    } else if (character === '#' && word === undefined) {
      at = text.indexOf('\n', at) === -1 ? text.length : text.indexOf('\n', at);
    } else if (character === '>') {
      endWord();
      isTarget = true;
      at += 1;
    } else if (character === "'" || character === '"') {
      at += 1;
      word = (word ?? '') + upTo(character);
    } else if (text.startsWith('$(', at)) {
      at += 2;
      word = `${word ?? ''}$(${upTo(')')})`;
    } else {
      word = (word ?? '') + character;
      at += 1;
    }
  }
  endCommand();
  return commands;
}
