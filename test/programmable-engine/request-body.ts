import type { IncomingMessage } from 'node:http';

/** The whole body, or undefined when the client left before its end or it is above the limit. */
export async function readRequestBody(request: IncomingMessage, limitBytes: number): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    let bytes = 0;
    request.on('data', (part: Buffer) => {
      bytes += part.length;
      if (bytes > limitBytes) {
        resolve(undefined);
        request.destroy();
      } else parts.push(part);
    });
    request.on('end', () => resolve(Buffer.concat(parts)));
    request.on('close', () => resolve(undefined));
    request.on('error', () => resolve(undefined));
  });
}
