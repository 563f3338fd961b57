import { extension, typed } from './typed.ts';
import type { JsonObject } from './typed.ts';

/** PEM files. */
export interface EdgeCertificate {
  readonly certificateFile: string;
  readonly keyFile: string;
}

const secret = 'edge-certificate';

/**
 * The file that tells Envoy where the edge's certificate is. Only a certificate that comes this way is read again when it
 * changes, without which the edge would stop working on the day the first one ends. What counts as a change is something
 * moved into the certificate's folder: how Kubernetes renews a mounted Secret.
 * https://www.envoyproxy.io/docs/envoy/v1.40.0/configuration/security/secret#certificate-rotation
 */
export function renderEdgeCertificate({ certificateFile, keyFile }: EdgeCertificate): JsonObject {
  return {
    resources: [
      typed('envoy.extensions.transport_sockets.tls.v3.Secret', {
        name: secret,
        tls_certificate: {
          certificate_chain: { filename: certificateFile },
          private_key: { filename: keyFile },
          watched_directory: { path: folderOf(certificateFile) },
        },
      }),
    ],
  };
}

/** The edge's transport socket: TLS 1.2 or newer, HTTP/2 and HTTP/1.1 by ALPN. */
export function edgeTls(edgeCertificateFile: string): JsonObject {
  return extension('envoy.transport_sockets.tls', 'envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext', {
    common_tls_context: {
      alpn_protocols: ['h2', 'http/1.1'],
      tls_params: { tls_minimum_protocol_version: 'TLSv1_2' },
      tls_certificate_sds_secret_configs: [
        {
          name: secret,
          sds_config: { resource_api_version: 'V3', path_config_source: { path: edgeCertificateFile } },
        },
      ],
    },
  });
}

function folderOf(file: string): string {
  const slash = file.lastIndexOf('/');
  return slash === -1 ? '.' : file.slice(0, Math.max(1, slash));
}
