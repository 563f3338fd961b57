import { once } from 'node:events';
import { createServer, request as startRequest } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An answer that passed, as far as it has come. */
export interface PassedAnswer {
  readonly path: string;
  readonly status: number;
  readonly text: string;
}

export interface RecordingProxy {
  /** Without a path. */
  readonly origin: string;
  /** In the order in which they began. */
  readonly answers: () => readonly PassedAnswer[];
  readonly close: () => Promise<void>;
}

/** Passes requests on to an origin, unchanged, and keeps the answers. `watch` sees an answer each time that more of it has passed. */
export async function startRecordingProxy(
  origin: string,
  watch: (answer: PassedAnswer) => void,
): Promise<RecordingProxy> {
  const answers: PassedAnswer[] = [];
  const server = createServer((incoming, outgoing) => {
    const { method, url: path = '/', headers } = incoming;
    const onward = startRequest(new URL(path, origin), { method, headers, agent: false }, (answer) => {
      const at = answers.length;
      const status = answer.statusCode ?? 0;
      let text = '';
      answers.push({ path, status, text });
      outgoing.writeHead(status, answer.headers);
      answer.setEncoding('utf8');
      answer.on('data', (piece: string) => {
        text += piece;
        const passed = { path, status, text };
        answers[at] = passed;
        outgoing.write(piece);
        watch(passed);
      });
      answer.once('end', () => outgoing.end());
      // A broken answer stays a broken one.
      answer.once('error', () => outgoing.destroy());
    });
    onward.once('error', () => outgoing.destroy());
    outgoing.once('close', () => onward.destroy());
    incoming.pipe(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answers: () => answers,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
