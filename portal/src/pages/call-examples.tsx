import type { ModelObject } from '../../../src/portal/api/catalog.ts';
import { examplesOf } from '../data/call-code.ts';
import { useGatewayUrl } from '../data/session.ts';
import { CodeTabs } from '../parts/code-tabs.tsx';

/** How to call a model from a shell and from two languages. */
export function CallExamples({ model }: { readonly model: Pick<ModelObject, 'id' | 'kind'> }) {
  const url = useGatewayUrl();
  return <CodeTabs of={model.id} examples={examplesOf(model, { url })} />;
}
