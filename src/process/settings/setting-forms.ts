import { z } from 'zod';
import { imageHostForms, type ImageHosts, readImageHosts } from '../../core/image-hosts.ts';
import { parseUsd } from '../../core/money.ts';
import { readValkeyAddress, type ValkeyAddress, valkeyAddressForms } from '../../core/valkey-address.ts';
import { readSearchSetting, searchForms } from '../../core/web-search.ts';

export const wholeNumber = (least: number, most: number) => {
  const error = ({ input }: { readonly input?: unknown }) =>
    `expected a whole number from ${least} to ${most}, got "${String(input)}"`;
  return z
    .string()
    .regex(/^\d{1,9}$/, { error })
    .transform(Number)
    .pipe(z.number().min(least, { error }).max(most, { error }));
};

export const port = wholeNumber(0, 65_535);

/** RFC 1123 label and subdomain, like the names of namespaces and pods in Kubernetes. */
export const namespaceText = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
export const podText = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$/;

export const valkeyAddress = z.string().transform((text, context): ValkeyAddress => {
  const address = readValkeyAddress(text);
  if (address === undefined) context.addIssue({ code: 'custom', message: valkeyAddressForms });
  return address ?? z.NEVER;
});

/** `none`: objects declare no accounts. */
export const accountNamespaces = z.string().transform((text, context): 'none' | readonly string[] => {
  if (text.trim() === 'none') return 'none';
  const names = text.split(',').flatMap((name) => name.trim() || []);
  const wrong = names.find((name) => !namespaceText.test(name));
  if (wrong === undefined) return names;
  context.addIssue({ code: 'custom', message: `expected none, or names of namespaces with commas, got "${wrong}"` });
  return z.NEVER;
});

export const searchProvider = z.string().transform((text, context) => {
  const setting = readSearchSetting(text);
  if (setting === undefined) context.addIssue({ code: 'custom', message: `expected ${searchForms}` });
  return setting ?? z.NEVER;
});

export const imageHosts = z.string().transform((text, context): ImageHosts => {
  const hosts = readImageHosts(text);
  if (hosts === undefined) context.addIssue({ code: 'custom', message: imageHostForms });
  return hosts ?? z.NEVER;
});

/** Highest price of a search, USD. A higher price is a slip of the decimal point. */
export const maxSearchPrice = '10';

export const searchPrice = z.string().transform((text, context) => {
  const price = parseUsd(text);
  if (price !== undefined && price >= 0n && price <= (parseUsd(maxSearchPrice) ?? 0n)) return price;
  context.addIssue({
    code: 'custom',
    message: `expected USD as a decimal from 0 to ${maxSearchPrice} with at most 12 decimals, such as 0.005`,
  });
  return z.NEVER;
});
