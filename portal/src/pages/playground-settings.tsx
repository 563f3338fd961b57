import { useState } from 'react';
import type { ModelObject } from '../../../src/portal/api/catalog.ts';
import type { ChatSettings } from '../data/chat-request.ts';
import { optionsOf, Select, TextArea, TextField, textOf, valueOf } from '../parts/fields.tsx';
import { WorkspaceSelect } from '../parts/workspace-select.tsx';

/** What all chosen models can do. Settings that one of them lacks are not shown. */
export interface ModelFeatures {
  readonly temperature: boolean;
  readonly stop: boolean;
  readonly tools: boolean;
  readonly images: boolean;
  /** Levels of reasoning, and `none` if it can be switched off. */
  readonly efforts: readonly string[];
}

export function featuresOf(models: readonly ModelObject[]): ModelFeatures {
  const all = (has: (model: ModelObject) => boolean): boolean => models.length > 0 && models.every(has);
  const efforts = models.map(effortsOf);
  return {
    temperature: all(({ parameters }) => parameters.includes('temperature')),
    stop: all(({ parameters }) => parameters.includes('stop')),
    tools: all(({ tools }) => tools),
    images: all(({ input_modalities: takes }) => takes.includes('image')),
    efforts: (efforts[0] ?? []).filter((effort) => efforts.every((some) => some.includes(effort))),
  };
}

function effortsOf({ reasoning }: ModelObject): readonly string[] {
  if (reasoning === null || reasoning.mode === 'None') return [];
  return reasoning.mode === 'Optional' ? ['none', ...reasoning.efforts] : reasoning.efforts;
}

/** Errors of fields, by their names. */
export type FieldErrors = Readonly<Partial<Record<'stop' | 'tools', string>>>;

/** The settings of a form, or what is wrong with them. Fields that are not shown are not sent. */
export function readSettings(
  form: FormData,
): { readonly settings: ChatSettings; readonly errors?: undefined } | { readonly errors: FieldErrors } {
  const numberOf = (name: string): number | undefined => {
    const text = textOf(form, name);
    return text === '' ? undefined : Number(text);
  };
  const stops = stopsOf(valueOf(form, 'stop'));
  const tools = toolsOf(textOf(form, 'tools'));
  if (stops.length > mostStops) return { errors: { stop: `At most ${mostStops} texts.` } };
  if (typeof tools === 'string') return { errors: { tools } };
  return {
    settings: {
      system: textOf(form, 'system') || undefined,
      temperature: numberOf('temperature'),
      maxTokens: numberOf('max-tokens'),
      stops: stops.length === 0 ? undefined : stops,
      effort: textOf(form, 'effort') || undefined,
      tools,
    },
  };
}

const mostStops = 4;

/** One text a line; `\n` inside a line is a line break, `\t` a tab. */
function stopsOf(text: string): readonly string[] {
  const lines = text.split(/\r?\n/).filter((line) => line !== '');
  return lines.map((line) => line.replaceAll(String.raw`\n`, '\n').replaceAll(String.raw`\t`, '\t'));
}

/** The list of tools; undefined if there is none. A text says what is wrong. */
function toolsOf(text: string): readonly unknown[] | undefined | string {
  if (text === '') return undefined;
  try {
    const tools: unknown = JSON.parse(text);
    if (!Array.isArray(tools)) return 'Expected a list: […]';
    return tools.length === 0 ? undefined : tools;
  } catch (error) {
    return `Not JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
}

interface SettingsProps {
  readonly features: ModelFeatures;
  readonly errors: FieldErrors;
}

/** The settings of a question. The form reads them when it is sent. Rare ones are below *More*, which opens for a wrong one. */
export function PlaygroundSettings({ features, errors }: SettingsProps) {
  const [isOpen, setOpen] = useState(false);
  if (!isOpen && Object.keys(errors).length > 0) setOpen(true);
  return (
    <>
      <TextArea label="System prompt" name="system" rows={3} />
      <details
        open={isOpen}
        onToggle={({ currentTarget: { open } }) => setOpen(open)}
        onInvalidCapture={() => setOpen(true)}
      >
        <summary>More</summary>
        <div className="stack">
          <TextField label="Max tokens" name="max-tokens" type="number" min={1} step={1} placeholder="No limit" />
          {features.temperature && (
            <TextField
              label="Temperature"
              name="temperature"
              type="number"
              min={0}
              max={2}
              step={0.1}
              placeholder="1"
            />
          )}
          {features.efforts.length > 0 && (
            <Select
              label="Reasoning effort"
              name="effort"
              options={[{ value: '', label: 'As the model does' }, ...optionsOf(features.efforts)]}
            />
          )}
          {features.stop && (
            <TextArea
              label="Stop"
              name="stop"
              rows={2}
              error={errors.stop}
              hint={String.raw`The answer ends before such a text. One a line; \n is a line break.`}
            />
          )}
          {features.tools && (
            <TextArea
              label="Tools"
              name="tools"
              rows={4}
              spellCheck={false}
              error={errors.tools}
              hint='JSON: [{"type": "function", "function": {"name": "…", "parameters": {…}}}]'
            />
          )}
        </div>
      </details>
    </>
  );
}

/** Which key pays: the portal's own, for a workspace, or one whose text the reader pastes. It is sent with each question and kept nowhere. */
export function PlaygroundKey() {
  const [isOwn, setOwn] = useState(false);
  return (
    <>
      <Select
        label="Key"
        value={isOwn ? 'own' : 'portal'}
        onChange={(value) => setOwn(value === 'own')}
        options={[
          { value: 'portal', label: 'Of the playground, $1 a day' },
          { value: 'own', label: 'Another key' },
        ]}
      />
      {isOwn ? (
        <TextField
          label="API key"
          name="key"
          type="password"
          required
          autoComplete="new-password"
          hint="Its workspace pays, and its limits apply. It is forgotten when you leave the page."
        />
      ) : (
        <WorkspaceSelect />
      )}
    </>
  );
}
