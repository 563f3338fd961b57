import { messageOf } from '../../core/failure.ts';
import { maxCertificateBytes, readBoundedFileSync } from '../../process/bounded-file.ts';

interface TlsSettings {
  readonly WEIR_TLS_CERTIFICATE_FILE?: string | undefined;
  readonly WEIR_TLS_KEY_FILE?: string | undefined;
}

/** Reads the certificate of a program and its key. Undefined: it speaks no TLS. Throws a sentence that names the setting. */
export function readTlsFiles({
  WEIR_TLS_CERTIFICATE_FILE: certificate,
  WEIR_TLS_KEY_FILE: key,
}: TlsSettings): { readonly cert: string; readonly key: string } | undefined {
  if (certificate === undefined && key === undefined) return undefined;
  if (certificate === undefined || key === undefined) {
    throw new Error('expected both WEIR_TLS_CERTIFICATE_FILE and WEIR_TLS_KEY_FILE, or neither');
  }
  try {
    const read = (path: string): string => String(readBoundedFileSync(path, maxCertificateBytes));
    return { cert: read(certificate), key: read(key) };
  } catch (error) {
    throw new Error(`WEIR_TLS_CERTIFICATE_FILE, WEIR_TLS_KEY_FILE: ${messageOf(error)}`, { cause: error });
  }
}

/** Reads the authorities of clients' certificates. Undefined: clients need none. Throws a sentence that names the setting. */
export function readClientCa(
  file: string | undefined,
  { setting, tls }: { readonly setting: string; readonly tls: object | undefined },
): string | undefined {
  if (file === undefined) return undefined;
  if (tls === undefined) throw new Error(`${setting}: expected WEIR_TLS_CERTIFICATE_FILE and WEIR_TLS_KEY_FILE, too`);
  try {
    return String(readBoundedFileSync(file, maxCertificateBytes));
  } catch (error) {
    throw new Error(`${setting}: ${messageOf(error)}`, { cause: error });
  }
}
