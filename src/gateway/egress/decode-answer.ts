import type { Transform } from 'node:stream';
import { type ContentCoding, createDecoder } from '../core/content-coding.ts';

/** Maximum size of one decoded answer, bytes: that of the largest answer with token probabilities. */
export const maxDecodedBytes = 64 * 1024 * 1024;

/** Receives a decoded body, in order. */
interface DecodedSink {
  readonly data: (bytes: Buffer) => void;
  readonly ended: () => void;
  /** The body is not in its coding, ends too early, or is over the limit. */
  readonly failed: (reason: string) => void;
  /** The decoder has room for more. */
  readonly drained: () => void;
}

/** Decodes the body of an answer. */
export interface BodyDecoder {
  /** False: the decoder is full until `drained`. */
  readonly push: (bytes: Buffer) => boolean;
  readonly end: () => void;
  /** Nothing is reported afterwards. */
  readonly close: () => void;
  readonly pause: () => void;
  readonly resume: () => void;
}

export function decodeAnswer(coding: ContentCoding, sink: DecodedSink): BodyDecoder {
  /** Begins with the body, whose first bytes it needs. */
  let transform: Transform | undefined;
  let decodedBytes = 0;
  let isPaused = false;

  function fail(reason: string): void {
    close();
    sink.failed(reason);
  }

  function close(): void {
    transform?.removeAllListeners();
    // What is still in the thread pool may fail after this.
    transform?.on('error', () => undefined);
    transform?.destroy();
  }

  function start(first: Buffer): Transform {
    const started = createDecoder(coding, { first });
    started.on('data', (bytes: Buffer) => {
      decodedBytes += bytes.length;
      if (decodedBytes > maxDecodedBytes) fail('DECODED_SIZE');
      else sink.data(bytes);
    });
    started.on('end', sink.ended);
    started.on('error', () => fail('ENCODING'));
    started.on('drain', sink.drained);
    if (isPaused) started.pause();
    return started;
  }

  return {
    push: (bytes) => bytes.length === 0 || (transform ??= start(bytes)).write(bytes),
    end: () => {
      if (transform === undefined) sink.ended();
      else transform.end();
    },
    close,
    pause: () => {
      isPaused = true;
      transform?.pause();
    },
    resume: () => {
      isPaused = false;
      transform?.resume();
    },
  };
}
