import type { ChatSurface } from '../../src/core/dialect.ts';
import type { ChoiceAnswer } from '../programmable-engine/answer.ts';
import { type Behaviour, parseBehaviour } from '../programmable-engine/behaviour.ts';
import { readMessages } from '../programmable-engine/chat-message.ts';
import { readChatRequest } from '../programmable-engine/chat-request.ts';
import { choiceTokens, prepareAnswer } from '../programmable-engine/prepared-answer.ts';
import { createPromptMemory } from '../programmable-engine/prompt-memory.ts';
import type { RequestEvent } from './events.ts';
import { mannersIn } from './heard-rounds.ts';
import type { ReceivedAnswer } from './received-choice.ts';
import { canary, scriptOf } from './searches.ts';
import { expectedVectors, hasVectors, vectorBody } from './vectors.ts';

const schema = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 1, maximum: 9 } },
  required: ['city', 'days'],
  additionalProperties: false,
};

const toolParameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const toolName = 'get_weather';

const manners = ({ words, model }: RequestEvent) => ({
  ...{ words, reasoningWords: 6, reasoning: model === 'tiny' ? ('never' as const) : ('always' as const) },
});

/** What only a prompt that searches tells its engines. */
function searching(event: RequestEvent): object {
  const { search } = event;
  return search === undefined
    ? {}
    : { script: scriptOf({ ...event, search }, toolName), struckRound: search.struckRound };
}

function promptOf(event: RequestEvent): string {
  const { id, topic, ask, directive } = event;
  const told = { ...directive, ...manners(event), ...searching(event) };
  const about = ask === 'tools' ? toolName : 'the tides';
  return `${canary} of topic ${topic} and request ${id}: say more about ${about}. [[demo ${JSON.stringify(told)}]]`;
}

const earlierTurns = (topic: number) => [
  { role: 'user', content: `${canary} about topic ${topic}: ${'a long story, told again '.repeat(1 + (topic % 5))}` },
  { role: 'assistant', content: `Well, topic ${topic} it is.` },
];

/** The request's body, as its caller writes it. */
export function bodyOf(event: RequestEvent, earlier?: EarlierAnswer): object {
  if (hasVectors(event)) return vectorBody(event);
  return { ...bodies[event.surface](event, earlier), ...event.fields };
}

/** An answer that a caller sends back with its next turn. */
export interface EarlierAnswer {
  readonly event: RequestEvent;
  readonly answer: ReceivedAnswer;
}

const bodies: Readonly<Record<ChatSurface, (event: RequestEvent, earlier?: EarlierAnswer) => object>> = {
  chat: chatBody,
  messages: messagesBody,
  responses: responsesBody,
};

function chatBody(event: RequestEvent): Record<string, unknown> {
  const { topic, stream, includeUsage, choices, ask, maxTokens, model } = event;
  return {
    model: `demo/${model}`,
    messages: [...earlierTurns(topic), { role: 'user', content: promptOf(event) }],
    stream,
    ...(stream && includeUsage ? { stream_options: { include_usage: true } } : {}),
    ...(choices > 1 ? { n: choices } : {}),
    ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
    ...(ask === 'tools'
      ? {
          tools: [{ type: 'function', function: { name: toolName, parameters: toolParameters } }],
          tool_choice: 'required',
        }
      : {}),
    ...(ask === 'schema' ? { response_format: { type: 'json_schema', json_schema: { name: 'plan', schema } } } : {}),
  };
}

function messagesBody(event: RequestEvent, earlier?: EarlierAnswer): object {
  const { topic, stream, ask, maxTokens = 4096, model, search } = event;
  return {
    model: `demo/${model}`,
    max_tokens: maxTokens,
    messages: [
      ...earlierTurns(topic),
      ...(earlier === undefined
        ? []
        : [
            { role: 'user', content: promptOf(earlier.event) },
            { role: 'assistant', content: earlier.answer.content },
          ]),
      { role: 'user', content: promptOf(event) },
    ],
    stream,
    ...toolsOf(
      [
        ask === 'tools' ? { name: toolName, input_schema: toolParameters } : undefined,
        search && { type: 'web_search_20250305', name: 'web_search', max_uses: search.maxUses },
      ],
      ask === 'tools' ? { tool_choice: { type: 'any' } } : {},
    ),
    ...(ask === 'schema' ? { output_config: { format: { type: 'json_schema', schema } } } : {}),
  };
}

function responsesBody(event: RequestEvent, earlier?: EarlierAnswer): object {
  const { topic, stream, ask, maxTokens, model, trace, search } = event;
  return {
    model: `demo/${model}`,
    input: [
      ...earlierTurns(topic),
      ...(earlier === undefined ? [] : [{ role: 'user', content: promptOf(earlier.event) }, ...earlier.answer.content]),
      { role: 'user', content: promptOf(event) },
    ],
    ...{ stream, store: false },
    ...(maxTokens === undefined ? {} : { max_output_tokens: maxTokens }),
    ...(trace === 'summary' ? { reasoning: { summary: 'auto' } } : {}),
    ...(trace === 'sealed' ? { include: ['reasoning.encrypted_content'] } : {}),
    ...(search?.maxUses === undefined ? {} : { max_tool_calls: search.maxUses }),
    ...toolsOf(
      [
        ask === 'tools' ? { type: 'function', name: toolName, parameters: toolParameters } : undefined,
        search && { type: 'web_search' },
      ],
      ask === 'tools' ? { tool_choice: 'required' } : {},
    ),
    ...(ask === 'schema' ? { text: { format: { type: 'json_schema', name: 'plan', schema } } } : {}),
  };
}

/** The fields of a request that has tools. Undefined: it does not have this one. */
function toolsOf(tools: readonly (object | undefined)[], choice: object): object {
  const offered = tools.filter((tool) => tool !== undefined);
  return offered.length === 0 ? {} : { tools: offered, ...choice };
}

export interface ExpectedAnswer {
  readonly choices: readonly ChoiceAnswer[];
  readonly promptTokens: number;
  /** Of all choices, and of each. */
  readonly completionTokens: number;
  readonly lengths: readonly number[];
}

/** The answer that every engine gives to a request without web search, as long as it is not broken. */
export function expectedAnswer(event: RequestEvent): ExpectedAnswer {
  if (hasVectors(event)) return expectedVectors(event);
  const { maxTokens = 4096 } = event;
  const asChat = { ...chatBody(event.surface === 'messages' ? { ...event, maxTokens } : event), ...event.fields };
  const messages = readMessages(asChat['messages']);
  const behaviour: Behaviour = { ...mannersIn({ ...event.directive }), ...parseBehaviour(manners(event)) };
  const answer = prepareAnswer(readChatRequest(asChat, messages, behaviour), {
    ...{ behaviour, contextLength: 8192, memory: createPromptMemory(), idPrefix: '', serial: 0, created: 0 },
  });
  const lengths = answer.choices.map((choice) => choiceTokens(choice).completion);
  return {
    ...{ choices: answer.choices, promptTokens: answer.promptTokens, lengths },
    completionTokens: lengths.reduce((sum, tokens) => sum + tokens, 0),
  };
}
