/**
 * Reads, counts and writes large bodies in a thread of its own. The messages stay in this thread. The main thread gets
 * the rest of the request, and the bytes for an engine when it asks for them.
 */
import { openSeal } from '../web-search/seal/seal.ts';
import { countPrompt } from '../tokenizer/count-prompt.ts';
import { createTokenizerCache } from '../tokenizer/loaded-tokenizer.ts';
import { createRememberedCounts } from '../tokenizer/remembered-counts.ts';
import type { RequestTarget } from '../../core/capability.ts';
import type { ReadOptions, Surface } from '../../core/dialect.ts';
import type { ImageHosts } from '../../core/image-hosts.ts';
import { ByNumber } from '../../core/by-number.ts';
import type { PromptCount, PromptCountAsk } from '../../core/prompt.ts';
import type { Request } from '../../core/request.ts';
import { handedOver, promptOf, readBody, writeBody } from '../request/prepare.ts';
import type { SealFiles } from '../../core/web-search.ts';

export interface PrepareData {
  readonly tokenizerRoot: string;
  readonly imageHosts: ImageHosts;
  readonly keepsBillingLines: boolean;
  readonly sealFiles?: SealFiles | undefined;
}

/** How a body is read. `secret` opens the ids of calls, and the state of engines. */
interface ReadInWorker extends Pick<ReadOptions, 'isCount'> {
  readonly surface: Surface;
  readonly secret: string | undefined;
}

/** Most time one count may take, milliseconds. */
const allowanceMs = 2_500;

/** `handle` names a request, which the thread holds until its release. */
export function createFunctions({ tokenizerRoot, imageHosts, keepsBillingLines, sealFiles }: PrepareData) {
  const held = new ByNumber<Request>();
  const encoder = new TextEncoder();
  const elapsed = (): number => performance.now();
  const tokenizers = createTokenizerCache({ root: tokenizerRoot, now: () => Date.now() });
  const remembered = createRememberedCounts({ elapsed });
  const seal = sealFiles && openSeal({ ...sealFiles, elapsed });
  const sealing = seal && { seal, traces: seal };

  function heldRequest(handle: number): Request {
    const request = held.get(handle);
    if (request === undefined) throw new Error('the request was released');
    return request;
  }

  return {
    read: (handle: number, bytes: Uint8Array, how: ReadInWorker) => {
      const { request, ...read } = readBody(bytes, { ...how, imageHosts, keepsBillingLines, ...sealing });
      // Garbage of this size would make the collector run for every tenth body.
      if (bytes.buffer instanceof ArrayBuffer) bytes.buffer.transfer(0);
      held.set(handle, request);
      return { request: handedOver(request), ...read };
    },
    write: (handle: number, target: RequestTarget) => encoder.encode(writeBody(heldRequest(handle), target)),
    count: async (handle: number, ask: PromptCountAsk): Promise<PromptCount> => {
      const request = heldRequest(handle);
      const { tokenizerPath, templateArguments, form, ...options } = ask;
      const tokenizer = await tokenizers.get(tokenizerPath).catch(() => undefined);
      if (tokenizer === undefined) return { kind: 'unknown', reason: 'tokenizer' };
      const prompt = promptOf(request, { templateArguments, form });
      const known = ask.scope === undefined ? undefined : remembered.within(tokenizerPath, ask.scope);
      return countPrompt(tokenizer, prompt, { ...options, milliseconds: allowanceMs, elapsed, remembered: known });
    },
    release: (handle: number) => held.delete(handle),
  };
}
