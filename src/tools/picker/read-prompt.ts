import { estimateTokens } from '../../gateway/core/count-tokens.ts';
import { blockContents } from '../../gateway/core/prompt-text.ts';
import { answerPaths } from '../../core/api-paths.ts';
import { type ChatSurface, chatSurfaces } from '../../core/dialect.ts';
import { isObject, parseJson, textOf } from '../../core/json.ts';
import type { PickAsk } from './picker.ts';
import type { BlockKey, PoolPrompt } from '../../core/pool-prompt.ts';
import type { PreparedRequest } from '../../core/prompt.ts';
import { readBody } from '../../gateway/request/prepare.ts';
import { poolPromptOf, promptBlocks } from '../../gateway/routing/pool/prompt-blocks.ts';

/** What the pick needs to know of a request. */
export interface ReadPrompt {
  readonly prompt: PoolPrompt;
  /** Whether the answer is to come token by token. */
  readonly stream: boolean;
  /** Common to the turns of a conversation (`PromptShape.conversation`). */
  readonly conversation: number | undefined;
}

interface PromptReaderOptions {
  /** Random text, unknown to callers. */
  readonly secret: string;
  /** Reads a body in another thread, which takes over its memory. */
  readonly prepare: (body: Uint8Array, surface: ChatSurface) => Promise<PreparedRequest>;
}

export type PromptReader = (ask: Pick<PickAsk, 'path' | 'body'>) => ReadPrompt | Promise<ReadPrompt>;

/** Bodies up to this size are read on the event loop, which takes about a millisecond. */
const maxBodyHereBytes = 128 * 1024;
/** Bytes of a body for each token of its prompt, where the prompt is not read: JSON has more than the text. */
const bytesPerToken = 6;

/** The end of each surface's path: a gateway may have anything before it. */
const endOf = (surface: ChatSurface): string => answerPaths[surface].replace(/^\/v1/, '');

/**
 * Returns a function that reads the prompts of requests to chat completions, messages, responses and completions. A body that is no such request,
 * or that cannot be read, has a prompt of a likely size without blocks. Never throws, and never rejects.
 */
export function createPromptReader({ secret, prepare }: PromptReaderOptions): PromptReader {
  // Adapters have names of models, and each computes another cache.
  const keyFor = (model: string): BlockKey => ({ secret, scope: model });

  function readHere(body: Uint8Array, surface: ChatSurface): ReadPrompt {
    // The engine gets the billing lines, too: the body is not changed here.
    const { request, shape, contents } = readBody(body, { surface, keepsBillingLines: true });
    const prompt = poolPromptOf(promptBlocks(contents, keyFor(request.modelName)), Math.max(1, shape.textTokens));
    return { prompt, stream: request.stream, conversation: shape.conversation };
  }

  async function readElsewhere(body: Uint8Array, surface: ChatSurface): Promise<ReadPrompt> {
    // The thread takes over the memory of what it reads, and the gateway gets the body back.
    const prepared = await prepare(Uint8Array.from(body), surface);
    try {
      const { request, shape } = prepared;
      const blocks = prepared.blocksFor(keyFor(request.modelName));
      const prompt = poolPromptOf(blocks, Math.max(1, shape.textTokens));
      return { prompt, stream: request.stream, conversation: shape.conversation };
    } finally {
      prepared.release();
    }
  }

  /** A request to `/v1/completions`, whose prompt is one text. */
  function readCompletion(body: Uint8Array): ReadPrompt | undefined {
    const asked = parseJson(new TextDecoder().decode(body));
    if (!isObject(asked)) return undefined;
    const { prompt: given } = asked;
    const text = textOf(Array.isArray(given) && given.length === 1 ? given[0] : given);
    if (text === undefined) return undefined;
    const blocks = promptBlocks(blockContents(text), keyFor(textOf(asked['model']) ?? ''));
    const prompt = poolPromptOf(blocks, Math.max(1, Math.ceil(estimateTokens(text))));
    return { prompt, stream: asked['stream'] === true, conversation: undefined };
  }

  return ({ path, body }) => {
    const unread = withoutBlocks(body);
    if (body === undefined) return unread;
    const [pathname = ''] = path.split('?', 1);
    const surface = chatSurfaces.find((one) => pathname.endsWith(endOf(one)));
    const isSmall = body.length <= maxBodyHereBytes;
    try {
      if (surface !== undefined)
        return isSmall ? readHere(body, surface) : readElsewhere(body, surface).catch(() => unread);
      if (pathname.endsWith('/completions') && isSmall) return readCompletion(body) ?? unread;
    } catch {
      // The engine refuses such a request, or it knows more than this reader.
    }
    return unread;
  };
}

function withoutBlocks(body: Uint8Array | undefined): ReadPrompt {
  const tokens = Math.max(1, Math.round((body?.length ?? 0) / bytesPerToken));
  return { prompt: { digests: [], ends: [], tokens }, stream: false, conversation: undefined };
}
