import { fileURLToPath } from 'node:url';
import { loadSync } from '@grpc/proto-loader';

interface ProcessMethod<Response> {
  readonly path: string;
  readonly requestSerialize: (message: object) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => Response;
}

const protoFile = fileURLToPath(new URL('../../protos/ext_proc.proto', import.meta.url));

/** The generic codec of ext_proc's one method, in place of Envoy's: with the names and the shapes of the extension's own tests. */
export function processMethod<Response>(): ProcessMethod<Response> {
  const service = loadSync(protoFile, { keepCase: true })['envoy.service.ext_proc.v3.ExternalProcessor'];
  return (service as unknown as { readonly Process: ProcessMethod<Response> }).Process;
}
