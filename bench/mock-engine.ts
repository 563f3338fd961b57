import { createServer, type AddressInfo, type Socket } from 'node:net';
import { readShape, renderAnswer, type AnswerShape, type RenderedAnswer } from './answers.ts';
import { createRequestReader, type EngineRequest } from './request-reader.ts';

export interface MockEngine {
  readonly port: number;
  readonly close: () => Promise<void>;
}

interface Prepared {
  readonly shape: AnswerShape;
  readonly answer: RenderedAnswer;
}

/** Only Linux spreads connections over the processes that share a port. */
export const enginesSharePort = process.platform === 'linux';

const healthy = Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');

/**
 * An engine that costs next to nothing: answers are rendered once per shape and written as they are.
 * Several may share a port (`SO_REUSEPORT`). Requests on one connection are answered in order, one at a time.
 */
export function startMockEngine(port = 0): Promise<MockEngine> {
  const prepared = new Map<string, Prepared>();
  const sockets = new Set<Socket>();
  const prepare = (name: string): Prepared => {
    const known = prepared.get(name);
    if (known) return known;
    const shape = readShape(name);
    const made = { shape, answer: renderAnswer(shape) };
    prepared.set(name, made);
    return made;
  };
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    serveSocket(socket, prepare);
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host: '127.0.0.1', reusePort: enginesSharePort }, () => {
      resolve({
        port: (server.address() as AddressInfo).port,
        close: () =>
          new Promise((closed) => {
            for (const socket of sockets) socket.destroy();
            server.close(() => closed());
          }),
      });
    });
  });
}

function serveSocket(socket: Socket, prepare: (shape: string) => Prepared): void {
  const waiting: EngineRequest[] = [];
  let stopPacing: (() => void) | undefined;

  const next = (): void => {
    while (stopPacing === undefined) {
      const request = waiting.shift();
      if (!request) return;
      answer(request);
    }
  };
  const answer = (request: EngineRequest): void => {
    if (request.method === 'GET') {
      socket.write(healthy);
      return;
    }
    const { shape, answer: rendered } = prepare(request.shape);
    if (!request.stream) {
      socket.write(rendered.json);
      return;
    }
    const pieces = request.includeUsage ? rendered.piecesWithUsage : rendered.pieces;
    if (shape.pace.kind === 'burst') {
      for (const piece of pieces) socket.write(piece);
      return;
    }
    stopPacing = pace(socket, pieces, shape.pace.gapMs, () => {
      stopPacing = undefined;
      next();
    });
  };
  const reader = createRequestReader((request) => waiting.push(request));
  socket.on('data', (bytes: Buffer) => {
    try {
      reader.push(bytes);
    } catch {
      socket.destroy();
      return;
    }
    next();
  });
  // A caller that leaves resets the connection; that is its right and no fault of the engine.
  socket.on('error', () => socket.destroy());
  socket.on('close', () => stopPacing?.());
}

/** Writes the pieces one by one on an absolute schedule, so that late timers do not slow the stream. Returns how to stop. */
function pace(socket: Socket, pieces: readonly Buffer[], gapMs: number, done: () => void): () => void {
  const startedAt = performance.now();
  let written = 0;
  let timer: NodeJS.Timeout | undefined;
  const step = (): void => {
    const piece = pieces[written];
    if (piece === undefined) {
      done();
      return;
    }
    socket.write(piece);
    written += 1;
    if (written === pieces.length) done();
    else timer = setTimeout(step, Math.max(1, startedAt + written * gapMs - performance.now()));
  };
  step();
  return () => clearTimeout(timer);
}
