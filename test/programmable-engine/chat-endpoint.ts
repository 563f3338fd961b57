import type { Behaviour } from './behaviour.ts';
import { type ChatMessage, readMessages } from './chat-message.ts';
import { type ChatRequest, readChatRequest } from './chat-request.ts';
import { completionChunks } from './completion-chunks.ts';
import { completionMessage } from './completion-message.ts';
import { deliverJson, deliverStream } from './delivery.ts';
import type { EngineModel } from './engine-model.ts';
import { DirectiveError } from './directive.ts';
import { type EngineError, errorOfStatus, errorReply } from './error-reply.ts';
import { type EngineIdentity, engineHeaders } from './identity.ts';
import { type JsonObject, stringOr } from './json-value.ts';
import type { Orders } from './orders.ts';
import { choiceTokens, prepareAnswer, type PreparedAnswer } from './prepared-answer.ts';
import type { PromptMemory } from './prompt-memory.ts';
import { RequestRefusal } from './request-refusal.ts';
import type { Wire } from './wire.ts';

/** What the chat endpoint of one engine works with. */
export interface ChatEndpoint {
  readonly name: string;
  readonly identity: EngineIdentity;
  readonly models: readonly EngineModel[];
  readonly orders: Orders;
  readonly memory: PromptMemory;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
}

/** Opens the way to the client. `compress`: the body goes out as gzip. */
export type OpenWire = (compress: boolean) => Wire;

/** What one request is answered with, once it is known what the engine has been told. */
export interface Making {
  readonly behaviour: Behaviour;
  readonly contextLength: number;
  readonly names: { readonly engine: string; readonly model: string };
  readonly openWire: OpenWire;
}

/** Answers one chat completion request, or breaks it as told. Resolves when the engine has nothing more to say. */
export async function answerChat(endpoint: ChatEndpoint, body: JsonObject, openWire: OpenWire): Promise<void> {
  return answerAsTold(endpoint, body, openWire, {
    read: () => readMessages(body['messages']),
    deliver: async (messages, making) => deliver(endpoint, readChatRequest(body, messages, making.behaviour), making),
  });
}

/**
 * Finds out what holds for a request and answers it, or refuses it as a real engine does. `read` gives the texts of the
 * request, whose last one carries its directives. Both functions may throw a RequestRefusal.
 */
export async function answerAsTold(
  endpoint: ChatEndpoint,
  body: JsonObject,
  openWire: OpenWire,
  how: {
    readonly read: () => readonly ChatMessage[];
    readonly deliver: (messages: readonly ChatMessage[], making: Making) => Promise<void>;
  },
): Promise<void> {
  const names = { engine: endpoint.name, model: stringOr(body['model'], '') };
  let behaviour: Behaviour = endpoint.orders.standing();
  const refuse = async (error: EngineError): Promise<void> =>
    replyError(openWire, error, { behaviour, identity: endpoint.identity });
  try {
    const messages = how.read();
    const model = endpoint.models.find((one) => one.id === names.model);
    behaviour = { ...model?.behaviour, ...endpoint.orders.takeFor(messages, body['demo']) };
    if (behaviour.status !== undefined) {
      await refuse(errorOfStatus(behaviour.status, names));
      return;
    }
    if (model === undefined && behaviour.anyModel !== true) {
      throw new RequestRefusal(`The model \`${names.model}\` does not exist.`, {
        status: 404,
        type: 'NotFoundError',
        param: 'model',
      });
    }
    const contextLength = behaviour.contextLength ?? model?.maxModelLen ?? 131_072;
    await how.deliver(messages, { behaviour, contextLength, names, openWire });
  } catch (error) {
    if (error instanceof RequestRefusal) {
      if (error.body !== undefined) behaviour = { ...behaviour, errorJson: behaviour.errorJson ?? error.body };
      await refuse(error);
    } else if (error instanceof DirectiveError) {
      await refuse({ status: 400, message: error.message, type: 'demo_directive_error', param: 'messages' });
    } else throw error;
  }
}

async function deliver(endpoint: ChatEndpoint, request: ChatRequest, making: Making): Promise<void> {
  const { behaviour, names } = making;
  const { identity, memory } = endpoint;
  serial += 1;
  const answer = prepareAnswer(request, {
    behaviour,
    memory,
    serial,
    contextLength: making.contextLength,
    idPrefix: behaviour.identify === false ? 'chatcmpl-' : identity.idPrefix,
    created: Math.floor(endpoint.now() / 1000),
  });
  const wire = making.openWire(behaviour.gzip === true);
  const firstTokenMs = (behaviour.firstTokenDelayMs ?? 0) + prefillMs(answer, behaviour);
  const delivery = { behaviour, names, firstTokenMs, headers: engineHeaders(identity, behaviour) };
  if (request.stream) {
    await deliverStream(wire, completionChunks(answer, request, { behaviour, identity }), delivery);
  } else {
    const parts = completionMessage(answer, request, { behaviour, identity });
    const tokens = answer.choices.reduce((sum, choice) => sum + choiceTokens(choice).completion, 0);
    await deliverJson(wire, { parts, tokens }, delivery);
  }
}

function prefillMs({ promptTokens, cachedTokens }: PreparedAnswer, behaviour: Behaviour): number {
  return ((promptTokens - cachedTokens) * 1000) / (behaviour.prefillTokensPerSecond ?? Infinity);
}

/** Makes ids unique in this process. */
let serial = 0;

/** Sends an error in the shape that the behaviour asks for. */
export async function replyError(
  openWire: OpenWire,
  error: EngineError,
  engine: { readonly behaviour: Behaviour; readonly identity: EngineIdentity },
): Promise<void> {
  const { behaviour, identity } = engine;
  const reply = errorReply(error, behaviour);
  const wire = openWire(false);
  await wire.pause(behaviour.headersDelayMs ?? 0);
  wire.sendHead(error.status, {
    'content-type': behaviour.contentType ?? reply.contentType,
    'content-length': Buffer.byteLength(reply.body),
    ...(behaviour.retryAfter === undefined ? {} : { 'retry-after': behaviour.retryAfter }),
    ...engineHeaders(identity, behaviour),
  });
  await wire.end(reply.body);
}
