import { threadId } from 'node:worker_threads';
import { chanceFrom } from '../test/support/chance.ts';

export type Surface = 'chat' | 'messages' | 'responses';

/** A conversation as agents send it: all of it with each request, and a turn more than the time before. */
export interface Prompt {
  readonly surface: Surface;
  /** About what the first request of a conversation has, its tools included. */
  readonly bytes: number;
  /** Requests before another conversation begins. Default: until it has grown by a tenth. */
  readonly turns?: number;
  /** Whether the gateway counts the tokens itself. */
  readonly exact?: true;
}

/** A body, and how many requests of its conversation came before it. */
export interface PromptBody {
  readonly body: string;
  readonly turn: number;
}

const turnBytes = 2_000;
const maxToolBytes = 20_000;

let opened = 0;
/** A seed that no other conversation of this process has. */
export const nextSeed = (): number => threadId * 1_000_000 + opened++;

/** Bodies of conversations, one after the other. */
export function openBodies(model: string, prompt: Prompt, seed: number): () => PromptBody {
  const { surface, bytes, turns = Math.max(1, Math.floor(bytes / 10 / turnBytes)) } = prompt;
  const chance = chanceFrom(seed);
  const words = (length: number): string => {
    const from = chance.below(vocabularyText().length - length);
    return vocabularyText().slice(from, from + length);
  };
  const message = (role: 'user' | 'assistant', length: number): string =>
    `{"role":"${role}","content":"${words(length)}"}`;
  const turn = (length: number): string => `,${message('assistant', length / 4)},${message('user', (length * 3) / 4)}`;
  const head = headOf(model, { surface, bytes });
  let messages = '';
  let sent = turns;
  return () => {
    if (sent >= turns) {
      messages = message('user', turnBytes);
      while (head.length + messages.length + turnBytes < bytes) messages += turn(2 * turnBytes);
      sent = 0;
    }
    messages += turn(turnBytes);
    sent += 1;
    return { body: `${head}${messages}]}`, turn: sent - 1 };
  };
}

/** All of a body that is before its messages. */
function headOf(model: string, { surface, bytes }: Pick<Prompt, 'surface' | 'bytes'>): string {
  const tools = toolsOf(Math.min(maxToolBytes, bytes / 2));
  const system = 'You work in a repository. Read before you write, and say what you have changed.';
  const fields = {
    chat: {
      model,
      max_tokens: 4_096,
      tools: tools.map((tool) => ({ type: 'function', function: tool })),
      messages: [{ role: 'system', content: system }],
    },
    messages: {
      ...{ model, max_tokens: 4_096, system },
      tools: tools.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters })),
      messages: [],
    },
    responses: {
      ...{ model, max_output_tokens: 4_096, store: false, instructions: system },
      tools: tools.map((tool) => ({ type: 'function', ...tool })),
      input: [],
    },
  }[surface];
  return `${JSON.stringify(fields).slice(0, -2)}${surface === 'chat' ? ',' : ''}`;
}

interface Tool {
  readonly name: string;
  readonly description: string;
  readonly parameters: object;
}

/** Definitions of about so many bytes together. */
function toolsOf(bytes: number): readonly Tool[] {
  const toolBytes = 1_000;
  const parameters = {
    type: 'object',
    properties: {
      path: { type: 'string', description: 'The file, from the root of the repository.' },
      lines: { type: 'array', items: { type: 'integer' }, description: 'The first line and the last one.' },
      mode: { type: 'string', enum: ['read', 'write', 'append'] },
    },
    required: ['path'],
  };
  const used = JSON.stringify(parameters).length + 100;
  return Array.from({ length: Math.round(bytes / toolBytes) }, (_, index) => ({
    name: `tool_${index}`,
    description: vocabularyText().slice(0, toolBytes - used),
    parameters,
  }));
}

const vocabulary =
  'river stone gate lock flow level bank turn the of and to in model token stream answer request prompt cache'.split(
    ' ',
  );
let text = '';
/** Words to cut messages from, made once: making them is not to compete with the gateway. */
function vocabularyText(): string {
  if (text !== '') return text;
  const chance = chanceFrom(1);
  const words = Array.from({ length: 200_000 }, () => chance.pick(vocabulary));
  text = words.join(' ');
  return text;
}
