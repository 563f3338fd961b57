import { type PutTogether, putTogether } from '../put-together.ts';
import { type Interrupted, readInterrupted } from './interrupted-stream.ts';
import { readBrokenMessages, readMessages } from './read-messages.ts';
import { readBrokenResponses, readResponses } from './read-responses.ts';
import type { SweepAsk } from './sweep-gateway.ts';

/** How callers of a surface ask, and how their answers are read: both in the chat format's words, so that one check will do. */
export interface SweepSurface {
  readonly path: string;
  /** Settings that it needs. */
  readonly env?: Readonly<Record<string, string>>;
  readonly bodyOf: (ask: SweepAsk) => Readonly<Record<string, unknown>>;
  /** Throws when the answer is not what the surface promises. */
  readonly read: (body: string, stream: boolean) => PutTogether;
  readonly readInterrupted: (stream: string) => Interrupted;
}

const contentOf = ({ directive }: SweepAsk): string =>
  `Go on.${directive === undefined ? '' : ` [[demo ${JSON.stringify(directive)}]]`}`;

export const chatSurface: SweepSurface = {
  path: '/v1/chat/completions',
  bodyOf: (ask) => ({
    ...{ model: ask.model, ...ask.shape.fields, stream: ask.stream },
    ...(ask.stream ? { stream_options: { include_usage: true } } : {}),
    messages: [{ role: 'user', content: contentOf(ask) }],
  }),
  read: (body, stream) => (stream ? putTogether(body) : (JSON.parse(body) as PutTogether)),
  readInterrupted,
};

interface ChatTool {
  readonly function: { readonly name: string; readonly parameters: object };
}

/** The fields of a shape, in the other format's words. Throws on one that has none there. */
function messagesFields(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const written = Object.entries(fields).map(([name, value]): object => {
    switch (name) {
      case 'reasoning_effort':
        return value === 'none' ? { thinking: { type: 'disabled' } } : { output_config: { effort: value } };
      case 'tools': {
        const tools = (value as readonly ChatTool[]).map((tool) => tool.function);
        return { tools: tools.map((tool) => ({ name: tool.name, input_schema: tool.parameters })) };
      }
      case 'tool_choice':
        return { tool_choice: { type: value === 'required' ? 'any' : 'auto' } };
      case 'response_format': {
        const { json_schema: named } = value as { readonly json_schema: { readonly schema: object } };
        return { output_config: { format: { type: 'json_schema', schema: named.schema } } };
      }
      case 'stop':
        return { stop_sequences: value };
      case 'max_tokens':
        return { max_tokens: value };
      default:
        throw new Error(`${name} means nothing on the messages surface`);
    }
  });
  return Object.assign({ max_tokens: 4096 }, ...written) as Readonly<Record<string, unknown>>;
}

export const messagesSurface: SweepSurface = {
  path: '/v1/messages',
  bodyOf: (ask) => ({
    ...{ model: ask.model, ...messagesFields(ask.shape.fields), stream: ask.stream },
    messages: [{ role: 'user', content: contentOf(ask) }],
  }),
  read: readMessages,
  readInterrupted: readBrokenMessages,
};

/** The fields of a shape in the words of the responses surface. Throws on one that has none there. */
function responsesFields(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const written = Object.entries(fields).map(([name, value]): object => {
    switch (name) {
      case 'reasoning_effort':
        return { reasoning: { effort: value } };
      case 'tools':
        return { tools: (value as readonly ChatTool[]).map((tool) => ({ type: 'function', ...tool.function })) };
      case 'tool_choice':
        return { tool_choice: value };
      case 'response_format': {
        const { json_schema: named } = value as { readonly json_schema: object };
        return { text: { format: { type: 'json_schema', ...named } } };
      }
      case 'max_tokens':
        return { max_output_tokens: value };
      default:
        throw new Error(`${name} means nothing on the responses surface`);
    }
  });
  return Object.assign({ store: false }, ...written) as Readonly<Record<string, unknown>>;
}

export const responsesSurface: SweepSurface = {
  path: '/v1/responses',
  env: { WEIR_RESPONSES: 'stateless' },
  bodyOf: (ask) => ({
    ...{ model: ask.model, ...responsesFields(ask.shape.fields), stream: ask.stream },
    input: [{ role: 'user', content: contentOf(ask) }],
  }),
  read: readResponses,
  readInterrupted: readBrokenResponses,
};
