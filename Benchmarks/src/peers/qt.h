// A Qt object with a signal, in a header of its own for moc.
#pragma once

#include "support.h"

#include <QObject>

class QtEmitter : public QObject {
  Q_OBJECT
signals:
  void changed(const State32 &state);
  void queued(const State64 &state);
};
