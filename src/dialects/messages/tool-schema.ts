import { z } from 'zod';
import { isSite } from '../../core/search-domains.ts';
import { webSearchName } from '../../core/web-search.ts';
import { listOf } from '../first-fault.ts';
import { isObject } from '../json.ts';
import { jsonObject } from '../json-object.ts';

const functionTool = z.object({
  type: z.literal('custom').nullish(),
  name: z.string().regex(/^[\w.:-]{1,128}$/, 'expected 1 to 128 letters, digits, or any of _ - . :'),
  description: z.string().nullish(),
  input_schema: jsonObject,
  strict: z.boolean().nullish(),
});

const sites = listOf(
  z.string().max(500).refine(isSite, 'expected a site such as example.com or example.com/docs, without https://'),
  { max: 1000 },
);

const place = z.string().max(255);

/** The web search of any version: `web_search_20250305` and later ones ask for the same (engines.md §2). */
const searchTool = z
  .object({
    type: z.string(),
    name: z.literal(webSearchName),
    max_uses: z.int().min(1).nullish(),
    allowed_domains: sites.nullish(),
    blocked_domains: sites.nullish(),
    user_location: z
      .object({
        type: z.literal('approximate').nullish(),
        city: place.nullish(),
        region: place.nullish(),
        country: z
          .string()
          .regex(/^[A-Za-z]{2}$/, 'expected a country of two letters, such as CH')
          .nullish(),
        timezone: place.nullish(),
      })
      .nullish(),
  })
  .refine(({ allowed_domains: allowed, blocked_domains: blocked }) => !allowed?.length || !blocked?.length, {
    path: ['blocked_domains'],
    message: 'expected either allowed_domains or blocked_domains, not both',
  });

const isSearch = (value: unknown): boolean =>
  isObject(value) && typeof value['type'] === 'string' && /^web_search_\d{8}$/.test(value['type']);

/** A tool, read as what its type says: in a union the faults of one kind would hide behind those of the other. */
export const tool = z.unknown().transform((value, context): FunctionTool | SearchTool => {
  const read = isSearch(value) ? searchTool.safeParse(value) : functionTool.safeParse(value);
  if (read.success) return read.data;
  // oxlint-disable-next-line typescript/consistent-type-assertions -- a finished issue is a raw one with its message
  context.issues.push(...(read.error.issues as unknown as z.core.$ZodRawIssue[]));
  return z.NEVER;
});

export type FunctionTool = z.infer<typeof functionTool>;
export type SearchTool = z.infer<typeof searchTool>;
export type WireTool = z.infer<typeof tool>;
