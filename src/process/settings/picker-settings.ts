import { z } from 'zod';
import { type HostPort, readAddressPort } from '../../core/endpoint.ts';
import { namespaceText, podText, port, wholeNumber } from './setting-forms.ts';
import { envoySettingsSchema, settingsSchema } from './settings.ts';

/** Namespace and name of an object of Kubernetes. */
const namespacedName = z.string().transform((text, context) => {
  const [namespace = '', name = '', ...more] = text.split('/');
  if (more.length === 0 && namespaceText.test(namespace) && podText.test(name)) return { namespace, name };
  context.addIssue({ code: 'custom', message: `expected NAMESPACE/NAME, got "${text}"` });
  return z.NEVER;
});

const endpointList = z.string().transform((text, context): readonly HostPort[] => {
  const endpoints = text.split(',').map((part) => readAddressPort(part.trim()));
  if (endpoints.every((one) => one !== undefined)) return endpoints;
  context.addIssue({ code: 'custom', message: 'expected addresses such as 10.0.0.5:8000,[fd00::5]:8000, with commas' });
  return z.NEVER;
});

const { WEIR_REPLICAS, WEIR_OPS_HOST, WEIR_OPS_PORT, WEIR_DRAIN_SECONDS, WEIR_LOG_LEVEL, WEIR_LOG_FORMAT } =
  settingsSchema.shape;
const { WEIR_TLS_CERTIFICATE_FILE, WEIR_TLS_KEY_FILE } = envoySettingsSchema.shape;

/** Every setting of `weir picker`, described like the settings of `weir serve`. */
export const pickerSettingsSchema = z.object({
  WEIR_PICKER_POOL: namespacedName
    .optional()
    .describe(
      'InferencePool whose endpoints are picked, NAMESPACE/NAME: in a pod by its service account, else by KUBECONFIG.',
    ),
  WEIR_PICKER_ENDPOINTS: endpointList
    .optional()
    .describe('The endpoints themselves, in place of a pool, with commas: 10.0.0.5:8000,10.0.0.6:8000.'),
  WEIR_PICKER_HOST: z
    .union([z.ipv4(), z.ipv6()], 'expected an IP address, such as 0.0.0.0')
    .default('127.0.0.1')
    .describe('Address of the picker and of its health service; 0.0.0.0 lets gateways of other hosts reach it.'),
  WEIR_PICKER_PORT: port.default(9002).describe('Port where gateways ask, ext_proc over gRPC; 0 takes a free one.'),
  WEIR_PICKER_HEALTH_PORT: port
    .default(9003)
    .describe('Port of the gRPC health service, without TLS; 0 takes a free one.'),
  WEIR_PICKER_RETRY_ENDPOINTS: wholeNumber(0, 7)
    .default(0)
    .describe(
      'How many further endpoints are named, for the retries of a gateway that reads a list; a cluster of the type ORIGINAL_DST reads only one.',
    ),
  WEIR_PICKER_FIRST_TOKEN_SECONDS: wholeNumber(1, 3600)
    .optional()
    .describe(
      'Requests whose first token would come later than that at every endpoint are refused with 429, a growing share of them up to half as long again; default: none are refused.',
    ),
  WEIR_TLS_CERTIFICATE_FILE: WEIR_TLS_CERTIFICATE_FILE.describe(
    'PEM file; the picker then speaks TLS only, as most gateways expect.',
  ),
  WEIR_TLS_KEY_FILE,
  WEIR_PICKER_CLIENT_CA_FILE: WEIR_TLS_CERTIFICATE_FILE.describe(
    'PEM file with the authorities that sign the certificates of gateways; default: gateways need none.',
  ),
  WEIR_REPLICAS: WEIR_REPLICAS.describe(
    'Pickers that gateways ask for this pool. From two on, a conversation has an endpoint that all of them expect to hold it.',
  ),
  WEIR_OPS_HOST,
  WEIR_OPS_PORT,
  WEIR_DRAIN_SECONDS,
  WEIR_LOG_LEVEL,
  WEIR_LOG_FORMAT,
});

export type PickerSettings = z.infer<typeof pickerSettingsSchema>;
