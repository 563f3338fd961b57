import { Agent, request } from 'undici';
import { isLoopback } from '../core/address.ts';

interface GatewayCall {
  readonly surface: keyof typeof paths;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly signal: AbortSignal;
}

/** Of the surfaces that the playground has, under `/v1`. */
const paths = { chat: '/chat/completions', embeddings: '/embeddings' } as const;

/** The portal's calls of the gateway, as a client makes them. */
export type GatewayCalls = ReturnType<typeof openGatewayCalls>;

/** `gatewayUrl`: with `/v1`. */
export function openGatewayCalls(gatewayUrl: string) {
  const dispatcher = new Agent({
    headersTimeout: 0,
    bodyTimeout: 0,
    // The certificate of a gateway on this machine may have only its public name.
    connect: { rejectUnauthorized: !isLoopback(URL.parse(gatewayUrl)?.hostname ?? '') },
  });
  return {
    /** POSTs a request to a surface. The answer may take any time. Rejects if the gateway does not answer. */
    post: ({ surface, ...call }: GatewayCall): ReturnType<typeof request> =>
      request(`${gatewayUrl}${paths[surface]}`, { method: 'POST', dispatcher, ...call }),
    close: (): Promise<void> => dispatcher.destroy(),
  };
}
