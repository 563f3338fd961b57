import { Tab, TabList, TabPanel, Tabs } from 'react-aria-components';
import { Copy } from './copy.tsx';

interface CodeTabsProps {
  /** What the code is about, for screen readers. */
  readonly of: string;
  readonly examples: readonly { readonly name: string; readonly code: string }[];
  /** The code has a key in it, which must not become a part of the page's HTML. */
  readonly isSecret?: boolean;
}

/** The same program in several languages, each with a button that copies it. */
export function CodeTabs({ of, examples, isSecret = false }: CodeTabsProps) {
  return (
    <Tabs className="stack-tight">
      <TabList aria-label={`Languages, ${of}`} className="segments" style={{ width: 'fit-content', flexWrap: 'wrap' }}>
        {examples.map(({ name }) => (
          <Tab key={name} id={name} className="segment">
            {name}
          </Tab>
        ))}
      </TabList>
      {examples.map(({ name, code }) => (
        <TabPanel key={name} id={name} className="stack-tight">
          {isSecret ? (
            <SecretCode label={`${name}, ${of}`} code={code} />
          ) : (
            // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- A box that scrolls must be reachable by the keyboard.
            <pre className="code" tabIndex={0} role="region" aria-label={`${name}, ${of}`}>
              {code}
            </pre>
          )}
          <div>
            <Copy text={code} label={`${name} example`} size="small" />
          </div>
        </TabPanel>
      ))}
    </Tabs>
  );
}

/** A field gets its text as a property. The text of any other element is in the page's HTML. */
function SecretCode({ label, code }: { readonly label: string; readonly code: string }) {
  const fill = (field: HTMLTextAreaElement | null): void => {
    if (field !== null) field.value = code;
  };
  return (
    <textarea
      className="input code mono"
      aria-label={label}
      ref={fill}
      rows={code.split('\n').length}
      wrap="off"
      readOnly
      spellCheck={false}
    />
  );
}
