import { useQuery } from '@tanstack/react-query';

/** An element as its name, its address where it is a link, and its children; or a text. */
export type DocsNode = string | readonly [name: string, href: string | null, children: readonly DocsNode[]];
type Sections = Readonly<Record<string, readonly DocsNode[]>>;

/** The pages of docs that problems name, by their paths. The build renders each into a chunk of its own. */
const pages = import.meta.glob<{ readonly sections: Sections }>(
  '../../../docs/**/{problems,runbooks,same-vectors,alerts,events,web-search,tracing,identities,tags,billing,portal}.md',
);

/** The sections of a page of docs, by their anchors. Undefined: no page is wanted. */
export function useDocs(page: string | undefined) {
  return useQuery({
    queryKey: ['docs', page],
    queryFn: async (): Promise<Sections> => {
      const [, load] = Object.entries(pages).find(([path]) => path.endsWith(`/${page}.md`)) ?? [];
      return (await load?.())?.sections ?? {};
    },
    enabled: page !== undefined,
    staleTime: Infinity,
  });
}
