import type { ProgrammableEngine } from './engine.ts';
import { arrayOr, type JsonObject, objectOr } from './json-value.ts';

/** An engine's reply to a question of a test. */
export interface Reply {
  readonly status: number;
  readonly text: string;
  /** Empty for a stream. */
  readonly json: JsonObject;
}

/** Posts chat requests for a model to an engine. */
export function poster(engine: Pick<ProgrammableEngine, 'url'>, model: string): (body: JsonObject) => Promise<Reply> {
  return async (body) => {
    const sent = JSON.stringify({ model, ...body });
    const response = await fetch(`${engine.url}/v1/chat/completions`, { method: 'POST', body: sent });
    const text = await response.text();
    return { status: response.status, text, json: body['stream'] === true ? {} : objectOr(JSON.parse(text)) };
  };
}

/** A conversation of one message. */
export const user = (content: string): readonly JsonObject[] => [{ role: 'user', content }];

/** A choice of an answer or of a chunk. */
export const choiceOf = (json: JsonObject, index = 0): JsonObject => objectOr(arrayOr(json['choices'])[index]);

/** The message of an answer's first choice. */
export const messageOf = (json: JsonObject): JsonObject => objectOr(choiceOf(json)['message']);

export const weatherTool = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 1, maximum: 3 } },
      required: ['city'],
    },
  },
};

export const timeTool = {
  type: 'function' as const,
  function: { name: 'get_time', parameters: { type: 'object', properties: {} } },
};
