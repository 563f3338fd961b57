import { z } from 'zod';
import { port } from './setting-forms.ts';
import { envoySettingsSchema, portalSettingsSchema, settingsSchema } from './settings.ts';

const { WEIR_OPS_HOST, WEIR_OPS_PORT, WEIR_LOG_LEVEL, WEIR_LOG_FORMAT } = settingsSchema.shape;
const { WEIR_TLS_CERTIFICATE_FILE, WEIR_TLS_KEY_FILE } = envoySettingsSchema.shape;

/** Every setting of `weir scaler`, described like the settings of `weir serve`. */
export const scalerSettingsSchema = z.object({
  WEIR_SERVICES: portalSettingsSchema.shape.WEIR_SERVICES.describe(
    'Ops ports of the services, with commas: they report the demand for each Backend. A host name with several addresses means all of them.',
  ),
  WEIR_SCALER_HOST: z
    .union([z.ipv4(), z.ipv6()], 'expected an IP address, such as 0.0.0.0')
    .default('127.0.0.1')
    .describe('Address of the scaler; 0.0.0.0 lets a KEDA of another host reach it.'),
  WEIR_SCALER_PORT: port.default(9004).describe('Port where KEDA asks, gRPC; 0 takes a free one.'),
  WEIR_TLS_CERTIFICATE_FILE: WEIR_TLS_CERTIFICATE_FILE.describe(
    'PEM file; the scaler then speaks TLS only, and triggers need caCert or unsafeSsl.',
  ),
  WEIR_TLS_KEY_FILE,
  WEIR_OPS_HOST,
  WEIR_OPS_PORT,
  WEIR_LOG_LEVEL,
  WEIR_LOG_FORMAT,
});

export type ScalerSettings = z.infer<typeof scalerSettingsSchema>;
